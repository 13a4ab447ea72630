/* What is measured, by name. Each takes the bench of one engine and the sizes, and emits its rows. */
import { runChild } from './child-process.mjs';

const longMs = 300_000;

export const RUNS = { raw, dispatch, drain, latency, lanes, limits, start, idle, hub, backlog };

async function raw(bench, sizes, rep) {
  await bench.withDatabase(({ raw: spec }) =>
    bench.row({ work: 'raw', rep }, () =>
      runChild({ ...spec, inserts: sizes.rawInsert, rows: sizes.rawRows }),
    ),
  );
}

async function dispatch(bench, sizes, rep) {
  const measure = (work, spec) =>
    bench.withDatabase(({ url: database }) =>
      bench.row({ work, rep }, () => runChild({ operation: work, database, ...spec })),
    );
  await measure('one-by-one', { jobs: sizes.one[bench.engine] });
  await measure('in-flight', { jobs: sizes.inFlight, width: 50 });
  await measure('bulk', { jobs: sizes.n });
}

async function drain(bench, sizes, rep) {
  for (const concurrency of [1, 10, 100]) await drainFresh(bench, sizes.n, { rep, concurrency });
  await drainFresh(bench, sizes.n, { rep, concurrency: 10, processes: 2 });
}

function drainFresh(bench, jobs, { rep, concurrency, processes = 1, work = 'drain' }) {
  return bench.withDatabase(async ({ url: database }) => {
    await runChild({ operation: 'load', database, jobs }, longMs);
    await bench.row({ work, rep, concurrency, processes }, () =>
      bench.drain(database, { jobs, concurrency, processes }),
    );
  });
}

async function latency(bench, sizes, rep) {
  const spec = { jobs: sizes.latencyJobs, gapMs: sizes.latencyGapMs, restMs: sizes.latencyRestMs };
  await bench.withDatabase(({ url: database }) =>
    bench.row({ work: 'latency', rep, processes: 1 }, () =>
      runChild({ operation: 'pick-up', database, isAlone: true, ...spec }),
    ),
  );
  await bench.withDatabase(({ url: database }) =>
    bench.row({ work: 'latency', rep, processes: 2 }, () => bench.pickUpAcross(database, spec)),
  );
}

/** One lane for the round trip, two for the rate, and two inline slots beside them. */
async function lanes(bench, { laneJobs: jobs }, rep) {
  for (const [kind, count] of [
    ['process', 1],
    ['process', 2],
    ['inline', 2],
  ]) {
    await bench.withDatabase(({ url: database }) =>
      bench.row({ work: 'lanes', rep, kind, lanes: count }, () =>
        runChild({ operation: 'lanes', database, jobs, kind, lanes: count }),
      ),
    );
  }
}

/** One after the other in each repetition, so that their ratios are of pairs. */
async function limits(bench, { limitJobs: jobs, limitHead: head }, rep) {
  for (const kind of ['none', 'groups', 'keys', 'budgets', 'saturated']) {
    await bench.withDatabase(({ url: database }) =>
      bench.row({ work: 'limits', rep, kind, concurrency: 100 }, () =>
        runChild({ operation: 'limits', database, jobs, kind, head }, longMs),
      ),
    );
  }
}

/** A fresh process of the command line each time: its worker alone, and under the supervisor. */
async function start(bench, { starts }, rep) {
  for (const kind of ['alone', 'supervised']) {
    await bench.withDatabase(({ url: database }) =>
      bench.row({ work: 'start', rep, kind }, () =>
        runChild({ operation: 'start', database, kind, starts }, longMs),
      ),
    );
  }
}

async function idle(bench, sizes, rep) {
  const { idleWorkers: workers, idleProcesses: processes } = sizes;
  const { idleRestMs: restMs, idleHeartbeatMs: heartbeatMs, idleWindowMs: windowMs } = sizes;
  await bench.withDatabase(async ({ url: database }) => {
    await runChild({ operation: 'load', database, jobs: 0 });
    await bench.row({ work: 'idle', rep, workers, processes }, () =>
      bench.rest(database, { workers, processes, restMs, heartbeatMs, windowMs }),
    );
  });
}

/** A worker with the database beside those behind one hub, so that the ratio is of a pair. */
async function hub(bench, sizes, rep) {
  const { hubJobs: jobs, hubIdle: workers, hubRestMs: restMs, hubWindowMs: windowMs } = sizes;
  const concurrency = 10;
  await drainFresh(bench, jobs, { rep, concurrency, work: 'hub-pair' });
  for (const processes of sizes.hubWorkers) {
    await bench.withDatabase(async ({ url: database }) => {
      await runChild({ operation: 'load', database, jobs }, longMs);
      await bench.row({ work: 'hub', rep, concurrency, processes }, () =>
        bench.withHub(database, (url) => bench.drain(database, { hub: url, jobs, concurrency, processes })),
      );
    });
  }
  const spec = { jobs: sizes.latencyJobs, gapMs: sizes.latencyGapMs, restMs: sizes.latencyRestMs };
  await bench.withDatabase(({ url: database }) =>
    bench.row({ work: 'hub-latency', rep, processes: 1 }, () =>
      bench.withHub(database, (url) =>
        runChild({ operation: 'pick-up', database, hub: url, isAlone: true, ...spec }),
      ),
    ),
  );
  await bench.withDatabase(({ url: database }) =>
    bench.row({ work: 'hub-idle', rep, workers }, () =>
      bench.hubAtRest(database, { workers, restMs, windowMs }),
    ),
  );
}

/** A plain drain beside it, so that its ratio is of a pair. */
async function backlog(bench, sizes, rep) {
  await drainFresh(bench, sizes.n, { rep, concurrency: 10, work: 'backlog-pair' });
  await bench.withDatabase(async ({ url: database }) => {
    await runChild({ operation: 'load', database, jobs: sizes.backlog }, longMs);
    await bench.row({ work: 'backlog', rep, concurrency: 10, first: sizes.n }, () =>
      bench.drain(database, { jobs: sizes.backlog, concurrency: 10, stampEvery: sizes.n }),
    );
  });
}

/** Once a run, since it takes minutes: then, with its rows kept, plain drains in pairs with fresh databases. */
export async function million(bench, sizes, reps) {
  await bench.withDatabase(async ({ url: database }) => {
    await runChild({ operation: 'load', database, jobs: sizes.million }, longMs);
    await bench.row({ work: 'million', rep: 1, concurrency: 10 }, () =>
      bench.drain(database, { jobs: sizes.million, concurrency: 10, stampEvery: sizes.million / 10 }),
    );
    let completedBefore = sizes.million;
    for (let rep = 1; rep <= reps; rep += 1) {
      await drainFresh(bench, sizes.n, { rep, concurrency: 10, work: 'kept-pair' });
      const from = completedBefore;
      await runChild({ operation: 'load', database, from, jobs: sizes.n });
      const before = completedBefore;
      await bench.row({ work: 'kept', rep, concurrency: 10, kept: before }, () =>
        bench.drain(database, { jobs: sizes.n, from, concurrency: 10, completedBefore: before }),
      );
      completedBefore += sizes.n;
    }
  });
}
