/**
 * Whether a Chrome starts on this machine, and whether it does so with its sandbox: tried once, not guessed. Root in a
 * container and kernels without user namespaces for this user can't have one; then what pages break into runs as the
 * worker's user, and whoever operates it is told.
 */
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withDeadline } from '../../internal/deadline.js';
import { describeFailure } from '../../internal/failure.js';
import { ChromeProcess } from './chrome-process.js';
import type { FoundChrome } from './find-chrome.js';
import { shortFolder } from './short-folder.js';

/** One that was seen to start and to run a page. */
export interface UsableChrome extends FoundChrome {
  /** `HeadlessChrome/147.0.7727.24` or `Chrome/156.…` */
  readonly product: string;
  /** The small one: no windows, no viewer for PDFs. */
  readonly isShell: boolean;
  readonly hasSandbox: boolean;
  readonly hasSmallShm: boolean;
}

export type Probe = UsableChrome | { readonly failure: string };

const startMs = 15_000;
const reapMs = 5_000;
const smallShmBytes = 1024 ** 3;

export async function probeChrome(found: FoundChrome): Promise<Probe> {
  const hasSmallShm = await isShmSmall();
  let failure = '';
  for (const hasSandbox of [true, false]) {
    const start = { ...found, hasSandbox, hasSmallShm };
    const { product, reason } = await tryTwice(start);
    if (product !== null) return { ...start, product, isShell: product.startsWith('Headless') };
    failure = reason;
  }
  return { failure };
}

/** Chrome can crash at a start that succeeds the next time; one crash must not cost the sandbox, or all lanes. */
async function tryTwice(start: Start): Promise<Tried> {
  const first = await tryStart(start);
  return first.hasCrashed ? tryStart(start) : first;
}

interface Start extends FoundChrome {
  readonly hasSandbox: boolean;
  readonly hasSmallShm: boolean;
}

interface Tried {
  /** Null: it did not start. */
  readonly product: string | null;
  readonly reason: string;
  readonly hasCrashed: boolean;
}

async function tryStart(start: Start): Promise<Tried> {
  const folder = await mkdtemp(shortFolder(join(tmpdir(), 'millrace-probe-')));
  const chrome = await ChromeProcess.spawn({
    ...start,
    folder,
    proxy: null,
    reapMs,
    onStderr: () => undefined,
    onListenerError: () => undefined,
  });
  try {
    const product = await withDeadline(productOf(chrome), { ms: startMs, name: 'the start of a Chrome' });
    return { product, reason: '', hasCrashed: false };
  } catch (error) {
    chrome.kill(describeFailure(error).message);
    const { reason, signal, tail } = await chrome.ended;
    const said = tail === '' ? reason : `${reason}: ${tellingLine(tail)}`;
    return { product: null, reason: said, hasCrashed: signal !== null && signal !== 'SIGKILL' };
  } finally {
    chrome.kill('the probe is over');
    await chrome.ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A page runs in a process of its own, which is what the sandbox is about. */
async function productOf({ connection }: ChromeProcess): Promise<string> {
  const { product } = await connection.browser.send('Browser.getVersion', undefined, { deadlineMs: startMs });
  const { targetId } = await connection.browser.send('Target.createTarget', { url: 'about:blank' });
  const page = await connection.attach(targetId);
  await page.send('Runtime.evaluate', { expression: '1' });
  return product;
}

/** The line that says what is wrong, among those about the bus and the GPU. */
function tellingLine(tail: string): string {
  const lines = tail.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.find((line) =>
    /FATAL|loading shared libraries|without --no-sandbox|No usable/i.test(line),
  );
  return (telling ?? lines.at(-1) ?? '').trim();
}

async function isShmSmall(): Promise<boolean> {
  try {
    const { blocks, bsize } = await statfs('/dev/shm');
    return blocks * bsize < smallShmBytes;
  } catch {
    // No such folder, as on macOS.
    return false;
  }
}
