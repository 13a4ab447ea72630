/* A run with --peers: every queue, ours among them, through the same operations, taking turns at each measurement. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child, runChild } from '../child-process.mjs';
import { perSecond } from '../clock.mjs';
import { problemsOfDrain } from '../counts.mjs';
import { openEngines } from '../engines.mjs';
import { Neighbours, untilQuiet } from '../quiet.mjs';
import { QUEUES } from './catalog.mjs';
import { installPeers, versionOf } from './install.mjs';
import { openStores } from './stores.mjs';

const file = fileURLToPath(new URL('./child.mjs', import.meta.url));
const longMs = 180_000;

export async function runPeers({ options, emit, tell }) {
  const wanted = queuesOf(options);
  if (wanted.some((queue) => queue.package !== undefined)) await installPeers(tell);
  const engines = await openEngines([...new Set(wanted.map(({ engine }) => engine))], { mayMiss: true });
  try {
    const stores = await openStores(engines, wanted);
    const queues = [];
    for (const queue of wanted) {
      if (await introduce({ queue, stores, options, emit })) queues.push(queue);
    }
    await takeTurns({ queues, stores, options, emit });
  } finally {
    await engines.close();
  }
}

function queuesOf({ queues, engines }) {
  return QUEUES.filter(
    ({ name, engine, isOurs = false }) =>
      (engines === null || engines.includes(engine)) && (queues === null || queues.includes(name) || isOurs),
  );
}

/** Tells of the queue, and whether it can be measured: a first job has gone into a store of its own. */
async function introduce({ queue, stores, options: { sizes, reps }, emit }) {
  const { name, title, engine, options, lacks, isOurs = false } = queue;
  const store = stores.get(queue.store);
  const row = {
    run: 'peers',
    work: 'queue',
    queue: name,
    title,
    engine,
    isOurs,
    options,
    lacks,
    jobs: jobsOf(queue, sizes),
    reps: queue.isOnce ? 1 : reps,
  };
  if (store.missing !== undefined) {
    emit({ ...row, missing: store.missing });
    return false;
  }
  const version = queue.package === undefined ? null : versionOf(queue.package);
  try {
    const { durability } = await withStore(store, queue, (database) =>
      runChild({ operation: 'describe', queue: name, database }, longMs, file),
    );
    emit({ ...row, version, store: store.about.version, durability: durability ?? store.about.durability });
    return true;
  } catch (error) {
    emit({ ...row, version, missing: `it did not start: ${firstLine(error)}` });
    return false;
  }
}

/** A repetition begins with another queue each time, so that no one is always first after a rest. */
async function takeTurns({ queues, stores, options, emit }) {
  const { reps, works, sizes, gateMs } = options;
  for (let rep = 1; rep <= reps; rep += 1) {
    for (const measurement of works.flatMap((work) => measurementsOf(work, sizes))) {
      for (let turn = 0; turn < queues.length; turn += 1) {
        const queue = queues[(turn + (rep - 1) * 3) % queues.length];
        if (queue.isOnce && rep > 1) continue;
        const about = { run: 'peers', queue: queue.name, ...measurement.about, rep };
        const skipped = queue.skips?.[measurement.about.work];
        if (skipped !== undefined) {
          emit({ ...about, skipped });
          continue;
        }
        await withStore(stores.get(queue.store), queue, (database) =>
          measure({
            about,
            gateMs,
            emit,
            prepare: measurement.prepare,
            take: measurement.take,
            queue,
            database,
          }),
        );
      }
    }
  }
}

async function withStore(store, queue, use) {
  const database = await store.create();
  try {
    return await use(database.of(queue));
  } finally {
    await database[Symbol.asyncDispose]();
  }
}

/** Prepares, waits for quiet, measures and emits; what fails is told in the row. */
async function measure({ about, gateMs, emit, prepare, take, queue, database }) {
  try {
    const child = (operation, spec) =>
      runChild({ operation, queue: queue.name, database, ...spec }, longMs, file);
    await prepare?.({ queue, child });
    await untilQuiet(gateMs);
    const neighbours = new Neighbours();
    const result = await take({ queue, database, child });
    emit({ ...about, ...result, others: neighbours.cores() });
  } catch (error) {
    emit({ ...about, problems: [firstLine(error)] });
  }
}

const firstLine = (error) => error.message.split('\n')[0];

function measurementsOf(work, sizes) {
  switch (work) {
    case 'dispatch':
      return dispatchMeasurements(sizes);
    case 'drain':
      return [
        drainMeasurement(sizes, { concurrency: 1, processes: 1 }),
        drainMeasurement(sizes, { concurrency: 10, processes: 1 }),
        drainMeasurement(sizes, { concurrency: 100, processes: 1 }),
        drainMeasurement(sizes, { concurrency: 10, processes: 2 }),
      ];
    case 'latency':
      return pickUpMeasurements(sizes);
    case 'backlog':
      return [backlogMeasurement(sizes)];
    default:
      throw new Error(`no measurement of ${work} is made of peers`);
  }
}

const jobsOf = (queue, sizes) => (queue.isSlow ? Math.min(queue.jobs ?? sizes.slow, sizes.n) : sizes.n);

function dispatchMeasurements(sizes) {
  return [
    {
      about: { work: 'one-by-one' },
      take: ({ queue, child }) => child('one-by-one', { jobs: queue.isSlow ? sizes.oneSlow : sizes.one }),
    },
    {
      about: { work: 'in-flight' },
      take: ({ queue, child }) =>
        child('in-flight', { jobs: queue.isSlow ? sizes.inFlightSlow : sizes.inFlight, width: 50 }),
    },
    { about: { work: 'bulk' }, take: ({ queue, child }) => child('bulk', { jobs: jobsOf(queue, sizes) }) },
  ];
}

function drainMeasurement(sizes, { concurrency, processes }) {
  return {
    about: { work: 'drain', concurrency, processes },
    prepare: ({ queue, child }) => child('load', { jobs: jobsOf(queue, sizes) }),
    take: ({ queue, database }) => {
      const jobs = jobsOf(queue, sizes);
      return drain(queue, database, { jobs, concurrency, processes, cutMs: sizes.cutMs });
    },
  };
}

function backlogMeasurement(sizes) {
  return {
    about: { work: 'backlog', concurrency: 10, processes: 1 },
    prepare: ({ child }) => child('load', { jobs: sizes.backlog }),
    take: ({ queue, database }) =>
      drain(queue, database, { jobs: sizes.backlog, upTo: sizes.n, concurrency: 10, cutMs: sizes.cutMs }),
  };
}

function pickUpMeasurements(sizes) {
  const spec = { jobs: sizes.latencyJobs, gapMs: sizes.latencyGapMs, restMs: sizes.latencyRestMs };
  return [
    {
      about: { work: 'latency', processes: 1 },
      take: ({ child }) => child('pick-up', { ...spec, isAlone: true }),
    },
    {
      about: { work: 'latency', processes: 2 },
      take: ({ queue, database, child }) => pickUpAcross({ queue, database, child, spec }),
    },
  ];
}

async function pickUpAcross({ queue, database, child, spec }) {
  const worker = new Child({ operation: 'pick-up', queue: queue.name, database, ...spec }, longMs, file);
  try {
    await worker.next('ready');
    await child('produce', spec);
    worker.send({ type: 'produced' });
    return (await worker.next('result')).result;
  } finally {
    await worker.end(worker.failure === null ? undefined : 0);
  }
}

/** Drains all that was loaded, or `upTo` so many; at most for `cutMs`, and then the rate is that of the time given. */
async function drain(queue, database, { jobs, upTo = jobs, concurrency, processes = 1, cutMs }) {
  const spec = { operation: 'drain', queue: queue.name, database, concurrency, jobs };
  const children = Array.from({ length: processes }, () => new Child(spec, longMs, file));
  let isCut = false;
  try {
    for (const child of children) await child.next('ready');
    for (const child of children) child.send({ type: 'go' });
    const isDone = await untilHandled(children, upTo, cutMs);
    isCut = !isDone || upTo < jobs;
    for (const child of children) child.send({ type: 'finish', isCut });
    const parts = [];
    for (const child of children) parts.push((await child.next('result')).result);
    return summarise(parts, { jobs, isCut, isTimeout: !isDone });
  } finally {
    for (const child of children) await child.end(isCut || child.failure !== null ? 0 : undefined);
  }
}

async function untilHandled(children, upTo, cutMs) {
  const deadline = performance.now() + cutMs;
  for (;;) {
    for (const { failure } of children) if (failure !== null) throw failure;
    if (children.reduce((sum, { progress }) => sum + progress, 0) >= upTo) return true;
    if (performance.now() > deadline) return false;
    await delay(2);
  }
}

/** Of a drain that was cut, what is missing can't be told; that nothing was handled twice can. */
function summarise(parts, { jobs, isCut, isTimeout }) {
  const startedUs = Math.min(...parts.map((part) => part.startedUs));
  const endUs = Math.max(...parts.map(({ handledUs, settledUs }) => (isCut ? handledUs : settledUs)));
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  const unfinished = isCut ? 0 : parts[0].unfinished;
  const found = problemsOfDrain({ jobs, parts, completed: jobs, unfinished });
  return {
    perSec: perSecond(count, endUs - startedUs),
    jobs: count,
    isTimeout,
    share: parts.map((part) => part.count),
    problems: isCut ? found.filter((problem) => !problem.endsWith('never handled')) : found,
  };
}
