import { MillraceError } from '../../internal/errors.js';
import { ownedFolderRoot, sweepOwnedFolders } from '../../internal/owned-folder.js';
import type { LaneSource } from '../../worker/lanes/lane.js';
import { LaneFolders } from '../../worker/lanes/process/lane-folders.js';
import { ChromeProcess } from '../chrome/chrome-process.js';
import type { UsableChrome } from '../chrome/sandbox.js';
import { shortFolder } from '../chrome/short-folder.js';
import { GuardProxy } from '../net/guard-proxy.js';
import type { TargetPolicy } from '../net/target-policy.js';
import { BrowserLane } from './browser-lane.js';
import type { ChromeSupply } from './chrome-supply.js';
import { DiskWatch } from './disk-watch.js';

export interface BrowserLaneSourceOptions {
  /** How many, at least 1. */
  readonly size: number;
  readonly supply: ChromeSupply;
  /** What pages may reach. */
  readonly policy: TargetPolicy;
}

const reapMs = 10_000;

/** The browser lanes of a worker. */
export function browserLaneSource({ size, supply, policy }: BrowserLaneSourceOptions): LaneSource {
  let watch: DiskWatch | null = null;
  return {
    kind: 'browser',
    get facts() {
      return { ...factsOf(supply.chrome), ...(watch === null ? {} : { disk: watch.report }) };
    },
    diskAlarm: () => watch?.refusal ?? null,
    create: (ports) => {
      const { logger } = ports;
      const root = shortFolder(ownedFolderRoot());
      // The worker itself sweeps the usual place.
      if (root !== ownedFolderRoot()) void sweepOwnedFolders({ root, logger });
      const folders = new LaneFolders({ logger, size, root, retryMs: 0 });
      const guard = new GuardProxy({
        policy,
        onRefused: (host, why) => logger.warn('browser lanes: a page was kept from a target', { host, why }),
      });
      let running = size;
      const lanes = Array.from({ length: size }, (_, index) => {
        const number = index + 1;
        const spawn = async () => await spawnChrome(await supply.take(), { folders, number, guard });
        const { missing } = supply;
        const onStopped = async (): Promise<void> => {
          running -= 1;
          if (running === 0) {
            guard.close();
            disk.close();
          }
          await folders.leave(number);
        };
        return new BrowserLane({ number, ports, spawn, missing, guard, onStopped });
      });
      const disk = new DiskWatch({ root, lanes, logger });
      watch = disk;
      return lanes;
    },
  };
}

function factsOf(chrome: UsableChrome | null): Readonly<Record<string, unknown>> {
  if (chrome === null) return { chrome: null };
  const { product, source, executable, hasSandbox } = chrome;
  return { chrome: product, source, executable, sandbox: hasSandbox };
}

/** In a folder of its own, which is wiped once its whole group is gone; a later process sweeps what a killed worker left. */
export async function spawnChrome(
  chrome: UsableChrome,
  {
    folders,
    number,
    guard,
  }: { readonly folders: LaneFolders; readonly number: number; readonly guard: GuardProxy },
): Promise<ChromeProcess> {
  const proxy = await guard.listen();
  const folder = await folders.forChild(number);
  if (folder === null)
    throw new MillraceError(
      'folder-unusable',
      'there is no folder for it: the folder for temporary files can’t be written. Make it writable, or set TMPDIR to one that is',
    );
  const spawned = await ChromeProcess.spawn({
    ...chrome,
    proxy,
    folder: folder.path,
    onStderr: () => undefined,
    onListenerError: () => undefined,
    reapMs,
  });
  if (spawned.pid !== null) folder.noteUser(spawned.pid);
  void spawned.ended.then(({ exitCode, signal }) =>
    folder.childEnded(spawned.pid === null || exitCode !== null || signal !== null),
  );
  return spawned;
}
