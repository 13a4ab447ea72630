import { setTimeout as delay } from 'node:timers/promises';
import { nowUs } from '../clock.mjs';
import { openClient } from './client.mjs';

const settleDeadlineMs = 20_000;
const mebibyte = 2 ** 20;

/**
 * Drains jobs `from … from + jobs − 1` beside whoever else does, until told to finish. Time runs from just before the
 * worker is started (connected, schema in place; a worker behind a hub has that before it and connects within the time) to the acknowledgement of the last result, read once a millisecond.
 */
export async function drain({ database, hub, concurrency, from = 0, jobs, stampEvery }, parent) {
  const tally = createTally(from, jobs, stampEvery);
  const { millrace } = openClient(database, tally.note);
  await millrace.open();
  globalThis.gc();
  const rssBefore = process.memoryUsage().rss;
  await parent.ready();
  await parent.told('go');

  const cpuBefore = process.cpuUsage();
  const startedUs = nowUs();
  const worker = millrace.worker({ concurrency, ...(hub === undefined ? {} : { hub }) });
  let settled = 0;
  let settledUs = 0;
  const sample = () => {
    const count = worker.counts.of('completed');
    if (count === settled) return;
    settled = count;
    settledUs = nowUs();
    parent.progress(count);
  };
  const sampler = setInterval(sample, 1);
  await worker.start();
  await parent.told('finish');
  clearInterval(sampler);
  sample();
  const cpu = process.cpuUsage(cpuBefore);
  const rss = process.memoryUsage().rss;
  globalThis.gc();
  const rssAfterGc = process.memoryUsage().rss;
  const stats = await untilSettled(millrace);
  await millrace.close();
  return {
    ...tally.result(),
    settled,
    startedUs,
    settledUs,
    completed: stats.completed,
    unfinished: stats.pending + stats.processing + stats.blocked + stats.buried + stats.cancelled,
    memory: {
      before: rssBefore / mebibyte,
      after: rss / mebibyte,
      afterGc: rssAfterGc / mebibyte,
      peak: process.resourceUsage().maxRSS / 1024,
    },
    cpuS: (cpu.user + cpu.system) / 1e6,
  };
}

/** A job is handled once or the run has failed; a byte counts to 255, which is enough to say so. */
function createTally(from, jobs, stampEvery = jobs) {
  const handled = new Uint8Array(jobs);
  const stamps = [];
  let count = 0;
  let strangers = 0;
  let firstUs = 0;
  let lastUs = 0;
  return {
    note: ({ i }) => {
      const index = i - from;
      if (index < 0 || index >= jobs) strangers += 1;
      else if (handled[index] < 255) handled[index] += 1;
      count += 1;
      if (count === 1) firstUs = nowUs();
      if (count % stampEvery === 0) {
        lastUs = nowUs();
        stamps.push({ count, us: lastUs, rss: process.memoryUsage.rss() / mebibyte });
      }
    },
    result: () => ({ handled, count, strangers, firstUs, stamps }),
  };
}

async function untilSettled(millrace) {
  const deadline = performance.now() + settleDeadlineMs;
  for (;;) {
    const stats = await millrace.stats('default');
    if (stats.pending + stats.processing === 0 || performance.now() > deadline) return stats;
    await delay(20);
  }
}
