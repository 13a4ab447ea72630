import { mkdirSync } from 'node:fs';
import type { JobHandle } from 'millrace';
import { type Dispatched, dispatchLibrary } from './dispatch-library.js';
import { findDocuments } from './find-documents.js';
import { hangGallery, PageServer } from './gallery.js';
import { type IndexFacts, library, type Package, packagesOf } from './library.js';
import { MillraceUp } from './millrace-up.js';
import { gallerySize, indexFile, outputFolder, packagesFolder } from './places.js';
import { ProgressBar } from './progress-bar.js';
import { packageTable, speedLine } from './report.js';

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const interrupted = 130;
const lookEveryMs = 50;

/**
 * Answers with the exit code. On a terminal it stays until Ctrl-C, so that the hub can be looked at.
 *
 * @param command the file of the command line
 */
export async function main(command: string): Promise<number> {
  mkdirSync(outputFolder, { recursive: true });
  await using _ = library;
  const documents = await findDocuments();
  say(`${documents.length} documents below ${packagesFolder} and on the desk`);
  const dispatched = await dispatchLibrary(documents);
  const isStaying = process.stdin.isTTY === true && !process.env['CI'];
  if (dispatched.index === null) say('nothing has changed since the last run, so nothing is done again');
  if (dispatched.index === null && !isStaying) {
    await report(dispatched);
    return 0;
  }
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const waiting = await jobsToRun();
  if (dispatched.index !== null) {
    const { created } = dispatched;
    say(`${created} new ${created === 1 ? 'job' : 'jobs'}, ${waiting} to run`);
  }
  const startedAtMs = Date.now();
  await using pages = await PageServer.start();
  await using up = await MillraceUp.start(command, { say, pages: gallerySize > 0 ? pages.host : null });
  const isDone =
    dispatched.index === null || (await runUntilDone(dispatched.index, waiting, { up, signal: stop.signal }));
  if (!isDone) {
    say('\nstopped; start it again and it goes on from here');
    return interrupted;
  }
  if (dispatched.index !== null) say(await speedOf(dispatched, startedAtMs));
  const packages = await report(dispatched);
  const gallery = gallerySize > 0 ? await hangGallery(packages, pages) : null;
  if (gallery !== null) say(gallery);
  return isStaying ? await stay(up, stop.signal) : 0;
}

/** Until Ctrl-C, or until the hub has ended by itself. */
async function stay({ url, ended }: MillraceUp, signal: AbortSignal): Promise<number> {
  say(`hub: ${url}  workers: ${url}/workers  API: ${url}/docs`);
  say('a worker waits for jobs; Ctrl-C ends both');
  const stopped = new Promise<number>((resolve) => {
    if (signal.aborted) resolve(0);
    signal.addEventListener('abort', () => resolve(0), { once: true });
  });
  return await Promise.race([stopped, ended]);
}

/** False when it was interrupted; what runs then is finished, the rest stays for the next run. */
async function runUntilDone(
  index: JobHandle<IndexFacts>,
  waiting: number,
  { up, signal }: { readonly up: MillraceUp; readonly signal: AbortSignal },
): Promise<boolean> {
  const stop = new AbortController();
  const onEnd = (): void => stop.abort();
  signal.addEventListener('abort', onEnd, { once: true });
  void up.ended.then(onEnd);
  if (signal.aborted) onEnd();
  try {
    using bar = new ProgressBar(waiting);
    using _ = every(lookEveryMs, async () => bar.set(waiting - (await jobsToRun())));
    await index.result({ timeout: Number.POSITIVE_INFINITY, signal: stop.signal });
    bar.set(waiting);
    return true;
  } catch (error) {
    if (stop.signal.aborted) return false;
    throw error;
  }
}

/** Does it again and again, one after the other. */
function every(ms: number, work: () => Promise<void>): Disposable {
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    void work().finally(() => {
      isBusy = false;
    });
  }, ms);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

async function jobsToRun(): Promise<number> {
  const { pending, blocked, processing } = await library.stats('default');
  return pending + blocked + processing;
}

interface Ended {
  readonly name: string;
  readonly dueAtMs: number;
  readonly claimedAtMs: number;
  readonly finishedAtMs: number;
}

/** Of what ended since then: all from the first claim to the last end, each document from due, or that claim, to done. */
async function speedOf({ documentIds, packageIds, index }: Dispatched, sinceMs: number): Promise<string> {
  const ids = [...documentIds, ...packageIds, ...(index === null ? [] : [index.id])];
  const jobs = await Promise.all(ids.map((id) => library.job(id)));
  const ended = jobs.flatMap((job): Ended[] => {
    if (job?.claimedAt == null || job.finishedAt == null || job.finishedAt.getTime() < sinceMs) return [];
    const { name, dueAt, claimedAt, finishedAt } = job;
    const [dueAtMs = 0, claimedAtMs = 0, finishedAtMs = 0] = [dueAt, claimedAt, finishedAt].map(Number);
    return [{ name, dueAtMs, claimedAtMs, finishedAtMs }];
  });
  const firstMs = Math.min(...ended.map(({ claimedAtMs }) => claimedAtMs));
  const lastMs = Math.max(...ended.map(({ finishedAtMs }) => finishedAtMs));
  const latencies = ended
    .filter(({ name }) => name === 'read-document')
    .map(({ dueAtMs, finishedAtMs }) => finishedAtMs - Math.max(dueAtMs, firstMs));
  return speedLine(ended.length, Math.max(lastMs - firstMs, 1), latencies);
}

async function report({ packageIds }: Dispatched): Promise<Package[]> {
  const packages = await packagesOf(packageIds);
  say('');
  for (const line of packageTable(packages)) say(line);
  const unreadable = packages.flatMap((each) => each.unreadable);
  if (unreadable.length > 0) {
    say('\nnot files that can be read:');
    for (const reason of unreadable) say(`  ${reason}`);
  }
  say(`\nopen ${indexFile}`);
  return packages;
}
