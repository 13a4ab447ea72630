/** A capture without a queue: a Chrome of its own, for this one page, gone with it. */
import { dressBrowser } from '../../client/browser-options.js';
import { capture } from '../../client/capture/capture.js';
import type { ResolvedCapture } from '../../client/capture/capture-options.js';
import type { CaptureResult } from '../../client/capture/capture-result.js';
import { withDeadline } from '../../internal/deadline.js';
import { MillraceError } from '../../internal/errors.js';
import { type Logger, silentLogger } from '../../internal/logger.js';
import { ownedFolderRoot } from '../../internal/owned-folder.js';
import type { PrivateTargets } from '../../internal/private-targets.js';
import { LaneFolders } from '../../worker/lanes/process/lane-folders.js';
import { monotonicMs } from '../../worker/monotonic.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { shortFolder } from '../chrome/short-folder.js';
import { describeMissing, usableChrome } from '../chrome/usable-chrome.js';
import { openJobPage } from '../context/job-page.js';
import { spawnChrome } from '../lane/browser-lane-source.js';
import { PageGuard } from '../lane/page-guard.js';
import { smokeTest } from '../lane/smoke-test.js';
import { GuardProxy } from '../net/guard-proxy.js';
import { TargetPolicy } from '../net/target-policy.js';
import { folderSink } from './folder-sink.js';

export interface CaptureHere {
  /** Where its files go. */
  readonly folder: string;
  /** Null: looked for. */
  readonly chromePath: string | null;
  readonly privateTargets: PrivateTargets;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number, phase: string) => void;
}

const startMs = 15_000;
const farewellMs = 5_000;
const neverAborted = new AbortController().signal;

/** @throws MillraceError `chrome-missing`, `folder-unusable`, and what `capture` throws */
export async function capturePageHere(options: ResolvedCapture, here: CaptureHere): Promise<CaptureResult> {
  const { logger = silentLogger, signal = neverAborted } = here;
  const sink = await folderSink(here.folder);
  const search = await usableChrome(here.chromePath, signal);
  if (search.chrome === null) throw new MillraceError('chrome-missing', describeMissing(search));
  const guard = new GuardProxy({ policy: new TargetPolicy({ privateTargets: here.privateTargets }) });
  const folders = new LaneFolders({ logger, size: 1, root: shortFolder(ownedFolderRoot()), retryMs: 0 });
  let chrome: ChromeProcess | null = null;
  try {
    chrome = await spawnChrome(search.chrome, { folders, number: 1, guard });
    await smokeTest(chrome, startMs);
    return await captureIn(chrome, options, { ...here, sink, guard, signal, logger });
  } finally {
    await end(chrome);
    guard.close();
    await folders.leave(1);
  }
}

async function captureIn(
  chrome: ChromeProcess,
  options: ResolvedCapture,
  {
    sink,
    guard,
    signal,
    logger,
    onProgress = () => undefined,
  }: CaptureHere & {
    readonly sink: Awaited<ReturnType<typeof folderSink>>;
    readonly guard: GuardProxy;
    readonly signal: AbortSignal;
    readonly logger: Logger;
  },
): Promise<CaptureResult> {
  const page = await openJobPage(chrome.connection, { signal, hasPuppeteer: false, guard });
  const watch = new PageGuard(chrome, page, {
    onCrash: () => undefined,
    onNote: (what) => logger.warn(`capture: ${what}`),
    endPages: async (why) => chrome.kill(why),
  });
  try {
    await page.members[dressBrowser](options.browser);
    return await capture(options, { browser: page.members, sink, onProgress, nowMs: monotonicMs });
  } finally {
    watch.end();
  }
}

async function end(chrome: ChromeProcess | null): Promise<void> {
  if (chrome === null) return;
  chrome.kill('the capture is over');
  // Its group is killed; what hangs in the kernel is left to the next sweep.
  await withDeadline(chrome.ended, { ms: farewellMs, name: 'the end of Chrome' }).catch(() => undefined);
}
