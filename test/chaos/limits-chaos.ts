import { expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import type { Engine } from '../../src/storage/capabilities.js';
import { Random } from '../model/random.js';
import { openEngine, type TestEngine } from '../support/engines.js';
import type { HistoryEvent } from '../support/history.js';
import { tempDir } from '../support/temp.js';
import { waitFor } from '../support/wait-for.js';
import { Herd } from './herd.js';

const JOBS = 300;
const WORKERS = 6;
const MAX = 3;
const LEASE_MS = 3_000;
const DEADLINE_MS = 90_000;

const client = { staleTimeout: LEASE_MS, heartbeat: 500, workerSleep: 200, killGrace: 200 } as const;
const limit = { group: 'chaos', max: MAX } as const;
const work = defineJob('chaos', { attempts: 20, limit, run: (_: { input: object }) => undefined });

/** Workers are killed while they hold places of a limit: never more run than it says, and each place comes back. */
export function limitsChaos(engine: Exclude<Engine, 'memory'>, seed: number): void {
  test(`workers killed at random never run more than a limit of ${MAX}, and leave none of it behind`, {
    timeout: DEADLINE_MS + 60_000,
  }, async () => {
    await using fixture = await openEngine(engine);
    await using dir = tempDir('limits-chaos');
    const options = { url: fixture.address, folder: dir.path, client, worker: { concurrency: 5 } };
    await using herd = new Herd(options);
    const random = new Random(seed);
    await dispatchAll(fixture, random);
    for (let count = 0; count < WORKERS; count += 1) herd.spawn();
    await herd.oneReady();
    let kills = 0;
    for (let left = JOBS; left > JOBS / 5; kills += 1) {
      const next = left - random.between(10, 40);
      left = await untilLeft(fixture, next);
      herd.kill(random);
      herd.spawn();
    }
    await untilLeft(fixture, 0);
    await herd.stop();
    expect(kills).toBeGreaterThanOrEqual(6);
    expect(mostAtOnce(herd.events())).toBeLessThanOrEqual(MAX);
    expect(await fixture.storage.limits()).toEqual([]);
    // What died thrice is poison; nothing else is lost.
    const [stats] = await fixture.storage.stats('default');
    expect((stats?.completed ?? 0) + (stats?.buried ?? 0)).toBe(JOBS);
  });
}

async function dispatchAll({ address }: TestEngine, random: Random): Promise<void> {
  await using millrace = new Millrace({ database: address, jobs: [work] });
  await millrace.dispatchMany(
    Array.from({ length: JOBS }, () => ({
      job: work,
      input: { ms: random.between(5, 60), failures: 0, snoozes: 0, chatty: false },
    })),
  );
}

/** On the way, storage never tells of more leases than the limit. */
async function untilLeft({ storage }: TestEngine, most: number): Promise<number> {
  let left = Number.POSITIVE_INFINITY;
  let running = 0;
  await waitFor(
    async () => {
      const [state] = await storage.limits();
      running = Math.max(running, state?.running ?? 0);
      const [stats] = await storage.stats('default');
      left = (stats?.pending ?? 0) + (stats?.processing ?? 0);
      return left <= most;
    },
    { describe: `at most ${most} jobs to be left`, deadlineMs: DEADLINE_MS, intervalMs: 20 },
  );
  expect(running).toBeLessThanOrEqual(MAX);
  return left;
}

/** Handlers that ran at the same moment, by the machine's clock; of the same ms the ends come first. */
function mostAtOnce(events: readonly HistoryEvent[]): number {
  const running = new Map<string, string>();
  let most = 0;
  const order = (event: HistoryEvent): number => (event.kind === 'started' ? 1 : 0);
  for (const event of [...events].sort((a, b) => a.at - b.at || order(a) - order(b))) {
    const attempt = `${event.jobId} ${event.token}`;
    if (event.kind === 'started') running.set(attempt, event.worker ?? '');
    else if (event.kind === 'ended') running.delete(attempt);
    else if (event.kind === 'killed') {
      for (const [key, worker] of running) if (worker === event.worker) running.delete(key);
    }
    most = Math.max(most, running.size);
  }
  return most;
}
