/*
 * The same operations for every queue, ours included: `open({ concurrency, isPickUp })` gives its adapter's
 * `{ enqueue(payload), bulk(payloads), work({ concurrency, onJob }), unfinished(), close() }`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { nowUs, rateOf } from '../clock.mjs';
import { payload, range } from '../payload.mjs';
import { percentile } from '../statistics.mjs';

const piece = 20_000;
const warmUp = 50;
const settleDeadlineMs = 15_000;
const arrivalDeadlineMs = 5_000;
const closeDeadlineMs = 2_000;

export const OPERATIONS = {
  describe,
  load,
  'one-by-one': oneByOne,
  'in-flight': inFlight,
  bulk,
  drain,
  'pick-up': pickUp,
  produce,
};

/** Makes the schema, and tells what the queue itself says of its durability. */
async function describe(_spec, { open }) {
  const queue = await open();
  await queue.enqueue(payload(0));
  const durability = (await queue.durability?.()) ?? null;
  await close(queue);
  return { durability };
}

async function load({ jobs }, { open }) {
  const queue = await open();
  for (let start = 0; start < jobs; start += piece) {
    await queue.bulk(range(start, Math.min(piece, jobs - start)).map(payload));
  }
  await close(queue);
  return {};
}

async function oneByOne({ jobs }, { open }) {
  const queue = await open();
  for (let i = 0; i < warmUp; i += 1) await queue.enqueue(payload(i));
  const perSec = await rateOf(jobs, async () => {
    for (let i = 0; i < jobs; i += 1) await queue.enqueue(payload(i));
  });
  return finish(queue, { perSec, jobs, expected: jobs + warmUp });
}

async function inFlight({ jobs, width }, { open }) {
  const queue = await open();
  for (let i = 0; i < warmUp; i += 1) await queue.enqueue(payload(i));
  let next = 0;
  const lane = async () => {
    while (next < jobs) await queue.enqueue(payload(next++));
  };
  const perSec = await rateOf(jobs, () => Promise.all(range(0, width).map(lane)));
  return finish(queue, { perSec, jobs, expected: jobs + warmUp });
}

async function bulk({ jobs }, { open }) {
  const queue = await open();
  const payloads = range(0, jobs).map(payload);
  const perSec = await rateOf(jobs, () => queue.bulk(payloads));
  return finish(queue, { perSec, jobs, expected: jobs });
}

async function finish(queue, { perSec, jobs, expected }) {
  const found = await queue.unfinished();
  await close(queue);
  return {
    perSec,
    jobs,
    problems: found === expected ? [] : [`the store holds ${found} jobs, expected ${expected}`],
  };
}

/**
 * From just before the worker is started (connected, schema in place). The parent says when: either all jobs were
 * handled, and time runs on until the store holds no unfinished one; or it cuts, and the last handler was the end.
 */
async function drain({ concurrency, jobs }, { open, parent }) {
  const queue = await open({ concurrency });
  const handled = new Uint8Array(jobs);
  let count = 0;
  let told = 0;
  let strangers = 0;
  let lastUs = 0;
  const onJob = ({ i }) => {
    if (!(i >= 0 && i < jobs)) strangers += 1;
    else if (handled[i] < 255) handled[i] += 1;
    count += 1;
    lastUs = nowUs();
  };
  const tell = () => {
    if (count !== told) parent.progress(count);
    told = count;
  };
  await parent.ready();
  await parent.told('go');
  const startedUs = nowUs();
  const timer = setInterval(tell, 2);
  await queue.work({ concurrency, onJob });
  const { isCut } = await parent.told('finish');
  clearInterval(timer);
  const result = { startedUs, handledUs: lastUs, count, strangers, handled };
  if (isCut) return { ...result, settledUs: lastUs, unfinished: 0 };
  const { settledUs, unfinished } = await untilSettled(queue);
  await close(queue);
  return { ...result, count, settledUs, unfinished };
}

async function untilSettled(queue) {
  const deadline = performance.now() + settleDeadlineMs;
  for (;;) {
    const unfinished = await queue.unfinished();
    if (unfinished === 0 || performance.now() > deadline) return { settledUs: nowUs(), unfinished };
    await delay(2);
  }
}

/** A worker of 10 on an idle queue; the jobs come from this process, or from another once it is ready. */
async function pickUp({ jobs, gapMs, restMs, isAlone }, { open, parent }) {
  const queue = await open({ concurrency: 10, isPickUp: true });
  const latencies = [];
  let last = () => undefined;
  const arrived = new Promise((resolve) => {
    last = resolve;
  });
  const onJob = ({ sentUs }) => {
    latencies.push((nowUs() - sentUs) / 1_000);
    if (latencies.length === jobs) last();
  };
  await queue.work({ concurrency: 10, onJob });
  await delay(restMs);
  if (isAlone) await enqueueSpaced(queue, { jobs, gapMs });
  else {
    await parent.ready();
    await parent.told('produced');
  }
  await Promise.race([arrived, delay(arrivalDeadlineMs, undefined, { ref: false })]);
  await close(queue);
  const at = (share) => percentile(latencies, share) ?? Number.NaN;
  const problems = latencies.length === jobs ? [] : [`${latencies.length} of ${jobs} jobs were picked up`];
  return { jobs, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), problems };
}

async function produce({ jobs, gapMs }, { open }) {
  const queue = await open({ isPickUp: true });
  await enqueueSpaced(queue, { jobs, gapMs });
  await close(queue);
  return {};
}

/** The time is taken just before each; gaps vary by ±5 ms, so that no poll keeps step with them. */
async function enqueueSpaced(queue, { jobs, gapMs }) {
  for (let i = 0; i < jobs; i += 1) {
    await queue.enqueue({ ...payload(i), sentUs: nowUs() });
    await delay(Math.max(1, gapMs - 5 + Math.random() * 10));
  }
}

/** Of some, closing waits for polls and timers: the process ends soon either way. */
async function close(queue) {
  await Promise.race([queue.close(), delay(closeDeadlineMs, undefined, { ref: false })]);
}
