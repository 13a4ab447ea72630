/*
 * The queues of a run with --peers. Each is set as its own documentation advises for throughput; `options` says how.
 * `engine` is the engine of ours that it is measured beside, `store` the database that it is given, `lacks` what a
 * reader has to know before comparing. A slow queue gets fewer jobs and one repetition (`isOnce`; so does ours where only
 * such a one is beside it), or the run would take hours.
 * The versions are in package.json: the newest release that declares this Node, or a newer one where it runs on it all
 * the same and is at least as fast (pg-boss, sidequest).
 */
const noBulk = 'to load it job by job would take minutes';

const ours = {
  title: 'Millrace',
  module: 'millrace',
  isOurs: true,
  options:
    'dispatch, dispatchMany, worker({ concurrency: c }), nothing else set; finished jobs are kept with their history',
  lacks: [],
};

const sidequest = {
  title: 'Sidequest',
  module: 'sidequest',
  package: 'sidequest',
  isSlow: true,
  isOnce: true,
  skips: { backlog: noBulk },
  lacks: [
    'no bulk call: bulk is single enqueues',
    'set to run inline, without its worker threads',
    'declares Node 22.6',
    'two processes that start at once can collide: its start is tried again',
  ],
};

export const QUEUES = [
  { ...ours, name: 'millrace-postgres', engine: 'postgres', store: 'postgres' },
  {
    name: 'graphile-worker-batch',
    title: 'graphile-worker, batching',
    module: 'graphile-worker',
    package: 'graphile-worker',
    engine: 'postgres',
    store: 'postgres',
    isBatching: true,
    options:
      'addJobs() of 1,000; concurrency c, localQueue.size 500, completeJobBatchDelay 0, failJobBatchDelay 0, pool of 10',
    lacks: [
      'deletes a job on completion: no history, no result',
      'jobs of a crashed worker wait 4 hours',
      'up to 500 jobs locked by one process',
    ],
  },
  {
    name: 'pg-boss',
    title: 'pg-boss',
    module: 'pg-boss',
    package: 'pg-boss',
    engine: 'postgres',
    store: 'postgres',
    options:
      'insert() of 1,000; work() with batchSize 1,000, burstWhenBatchFull, polling each 0.5 s (the least), localConcurrency 1 (2 for c = 100), the handler run over the batch c at a time; LISTEN/NOTIFY on for the pick-up; pool of 10',
    lacks: [
      'a batch succeeds or fails as a whole (perJobResults, not set here, changes that)',
      'concurrency is applied by the handler of the benchmark, inside a batch',
      'declares Node 22.12',
    ],
  },
  {
    name: 'bullmq',
    title: 'BullMQ',
    module: 'bullmq',
    package: 'bullmq',
    engine: 'postgres',
    store: 'redis',
    options: 'addBulk of 1,000; Worker concurrency c; removeOnComplete and removeOnFail',
    lacks: [
      'not power-cut safe as Redis is set here (see durability)',
      'set to delete a job on completion: no history',
      'no transaction with the data of an SQL database',
    ],
  },
  {
    name: 'graphile-worker',
    title: 'graphile-worker, default',
    module: 'graphile-worker',
    package: 'graphile-worker',
    engine: 'postgres',
    store: 'postgres',
    isSlow: true,
    isOnce: true,
    jobs: 8_000,
    options: 'addJobs() of 1,000; concurrency c, no local queue, no batching, pool of c + 2 (10 to 50)',
    lacks: ['deletes a job on completion: no history, no result', 'jobs of a crashed worker wait 4 hours'],
  },
  {
    name: 'dbos',
    title: 'DBOS',
    module: 'dbos',
    package: '@dbos-inc/dbos-sdk',
    engine: 'postgres',
    store: 'postgres',
    isSlow: true,
    isOnce: true,
    skips: { backlog: noBulk },
    options:
      'DBOSClient.enqueue; bulk: enqueueInTransaction, 500 a transaction; one workflow without steps a job; workerConcurrency c, minPollingIntervalMs 1 (default 1,000), pool of 20',
    lacks: [
      'each job is a durable workflow, written at its start and its end: it buys more than a queue does',
      'no bulk call',
    ],
  },
  {
    ...sidequest,
    name: 'sidequest-postgres',
    engine: 'postgres',
    store: 'postgres',
    options:
      "runner: 'inline', fork: false, concurrency = maxConcurrentJobs = c, jobPollingInterval 1 ms (default 100); bulk: 20 enqueues in flight",
  },
  { ...ours, name: 'millrace-sqlite-normal', engine: 'sqlite-normal', store: 'sqlite-normal' },
  {
    name: 'plainjob',
    title: 'plainjob',
    module: 'plainjob',
    package: 'plainjob',
    engine: 'sqlite-normal',
    store: 'sqlite-normal',
    options:
      'addMany of 20,000; c workers on one connection; polls each 10 ms for the pick-up (default 1,000); sets WAL and synchronous=NORMAL itself',
    lacks: [
      'a job acknowledged is not power-cut safe (synchronous=NORMAL, as ours beside it)',
      'no wake-up: an idle worker polls',
    ],
  },
  { ...ours, name: 'millrace-sqlite-full', engine: 'sqlite-full', store: 'sqlite-full', isOnce: true },
  {
    ...sidequest,
    name: 'sidequest-sqlite',
    engine: 'sqlite-full',
    store: 'sqlite-full',
    options:
      "runner: 'inline', fork: false, concurrency = maxConcurrentJobs = c, jobPollingInterval 1 ms (default 100); bulk: enqueues in a loop",
  },
];

export function queueOf(name) {
  return QUEUES.find((queue) => queue.name === name);
}
