import type { Storage } from '../../storage/storage.js';
import type { WorkerHost } from '../host.js';
import { ownedProcess } from '../owned-process.js';
import type { LoopPulse } from '../watchdog/loop-pulse.js';
import type { ResolvedWorkerOptions } from '../worker-options.js';
import type { Link, LinkListener, LinkSettings, WorkerIdentity } from './link.js';
import type { DutySettings } from './link-messages.js';
import { LinkThreadHost } from './link-thread-host.js';
import { LocalLink } from './local-link.js';
import { threadFile } from './thread-keeper.js';

const controlMs = 1_000;

/** The link in a thread where storage can be opened a second time, else on the main loop. */
export function openLink(
  host: WorkerHost,
  storage: Storage,
  identity: WorkerIdentity,
  options: Pick<ResolvedWorkerOptions, 'duties'>,
  { pulse, listener }: { readonly pulse: LoopPulse; readonly listener: LinkListener },
): Link {
  const { leaseMs, heartbeatMs, workerTtlMs, retentionMs, logRetentionMs } = host.settings;
  const { staleReapMs, reapIntervalMs } = host.settings;
  const settings: LinkSettings = {
    leaseMs,
    heartbeatMs,
    controlMs: Math.min(controlMs, leaseMs / 3),
    ttlMs: workerTtlMs,
  };
  const duties: DutySettings | null = options.duties
    ? { leaseMs, retentionMs, logRetentionMs, staleReapMs, reapIntervalMs }
    : null;
  const file = host.database !== null && storage.capabilities.shared ? threadFile('link-thread.js') : null;
  if (host.database !== null && file !== null) {
    const { url: databaseUrl, storageOptions } = host.database;
    const watch = { memory: pulse.memory, owned: ownedProcess() };
    const { files } = host.settings;
    const data = { databaseUrl, storageOptions, identity, settings, duties, files, watch };
    return new LinkThreadHost(file, storage, data, listener);
  }
  if (storage.capabilities.shared) {
    listener.onLog(
      'warn',
      'the link runs on the main loop: a handler that blocks it for a lease loses its jobs to other workers',
      {
        why:
          host.database === null
            ? 'storage was handed over as an object'
            : 'the thread file is not beside this code (a bundle?)',
      },
    );
  }
  return new LocalLink(storage, { identity, settings, duties, files: host.files }, listener);
}
