import { mkdirSync } from 'node:fs';
import type { JobHandle } from 'millrace';
import { type Dispatched, dispatchLibrary } from './dispatch-library.js';
import { findDocuments } from './find-documents.js';
import { type IndexFacts, library, packagesOf } from './library.js';
import { indexFile, outputFolder, packagesFolder } from './places.js';
import { ProgressBar } from './progress-bar.js';
import { packageTable, speedLine } from './report.js';

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const interrupted = 130;

/** Answers with the exit code. */
export async function main(): Promise<number> {
  mkdirSync(outputFolder, { recursive: true });
  await using _ = library;
  const documents = await findDocuments();
  say(`${documents.length} documents below ${packagesFolder} and on the desk`);
  const dispatched = await dispatchLibrary(documents);
  if (dispatched.index === null) say('nothing has changed since the last run, so nothing is done again');
  else if (!(await runUntilDone(dispatched, dispatched.index))) {
    say('\nstopped; start it again and it goes on from here');
    return interrupted;
  }
  await report(dispatched);
  return 0;
}

/** False when it was interrupted; what runs then is finished, the rest stays for the next run. */
async function runUntilDone({ created }: Dispatched, index: JobHandle<IndexFacts>): Promise<boolean> {
  const waiting = await jobsToRun();
  say(`${created} new ${created === 1 ? 'job' : 'jobs'}, ${waiting} to run`);
  const startedAt = performance.now();
  const startedAtMs = Date.now();
  const finished: string[] = [];
  await using worker = library.worker({ concurrency: 8, stopTimeout: '5s' });
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    {
      using bar = new ProgressBar(waiting);
      const onEnd = ({ id, name }: { id: string; name: string }): void => {
        bar.advance();
        if (name === 'read-document') finished.push(id);
      };
      library.on('job:completed', onEnd);
      library.on('job:buried', onEnd);
      await worker.start();
      await index.result({ timeout: Number.POSITIVE_INFINITY, signal: stop.signal });
      await worker.idle();
    }
    const elapsedMs = performance.now() - startedAt;
    say(speedLine(worker.counts.ended, elapsedMs, await latenciesOf(finished, startedAtMs)));
    return true;
  } catch (error) {
    if (stop.signal.aborted) return false;
    throw error;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}

async function jobsToRun(): Promise<number> {
  const { pending, blocked, processing } = await library.stats('default');
  return pending + blocked + processing;
}

/** From due to done; of what an earlier run had left, from the start of this one. */
async function latenciesOf(ids: readonly string[], startedAtMs: number): Promise<number[]> {
  const jobs = await Promise.all(ids.map((id) => library.job(id)));
  return jobs.flatMap((job) =>
    job?.finishedAt == null ? [] : [job.finishedAt.getTime() - Math.max(job.dueAt.getTime(), startedAtMs)],
  );
}

async function report({ packageIds }: Dispatched): Promise<void> {
  const packages = await packagesOf(packageIds);
  say('');
  for (const line of packageTable(packages)) say(line);
  const unreadable = packages.flatMap((each) => each.unreadable);
  if (unreadable.length > 0) {
    say('\nnot files that can be read:');
    for (const reason of unreadable) say(`  ${reason}`);
  }
  say(`\nopen ${indexFile}`);
}
