import { setTimeout as delay } from 'node:timers/promises';
import { nowUs } from '../clock.mjs';
import { payload } from '../payload.mjs';
import { percentile } from '../statistics.mjs';
import { openClient } from './client.mjs';

const arrivalDeadlineMs = 5_000;

/** A worker that has rested on an empty queue for `restMs`; the jobs come from this process, or from another once it is ready. */
export async function pickUp({ database, hub, jobs, gapMs, restMs, isAlone }, parent) {
  const latencies = [];
  let last = () => undefined;
  const arrived = new Promise((resolve) => {
    last = resolve;
  });
  const { millrace, noop } = openClient(database, ({ sentUs }) => {
    latencies.push((nowUs() - sentUs) / 1_000);
    if (latencies.length === jobs) last();
  });
  await millrace.worker({ concurrency: 10, ...(hub === undefined ? {} : { hub }) }).start();
  await delay(restMs);
  if (isAlone) await dispatchSpaced(millrace, noop, { jobs, gapMs });
  else {
    await parent.ready();
    await parent.told('produced');
  }
  await Promise.race([arrived, delay(arrivalDeadlineMs, undefined, { ref: false })]);
  await millrace.close();
  const at = (share) => percentile(latencies, share) ?? Number.NaN;
  const problems = latencies.length === jobs ? [] : [`${latencies.length} of ${jobs} jobs were picked up`];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), problems };
}

export async function produce({ database, jobs, gapMs }) {
  const { millrace, noop } = openClient(database);
  await millrace.open();
  await dispatchSpaced(millrace, noop, { jobs, gapMs });
  await millrace.close();
  return {};
}

/** The time is taken just before each dispatch; gaps vary by ±5 ms, so that no poll keeps step with them. */
async function dispatchSpaced(millrace, noop, { jobs, gapMs }) {
  for (let i = 0; i < jobs; i += 1) {
    await millrace.dispatch(noop, { ...payload(i), sentUs: nowUs() });
    await delay(Math.max(1, gapMs - 5 + Math.random() * 10));
  }
}
