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
    const { most, refused, seen } = mostAtOnce(herd.events());
    expect(most, `ran at once:\n${seen}`).toBeLessThanOrEqual(MAX);
    expect(refused).toBeLessThan(JOBS / 10);
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

/**
 * Handlers that ran at the same moment under a lease, by the machine's clock; of the same ms the ends come first. A limit
 * counts leases: an attempt whose result was refused had lost its own at some moment that nobody here knows, as when the
 * machine stood still for longer than a lease, and is left out.
 */
function mostAtOnce(events: readonly HistoryEvent[]): { most: number; refused: number; seen: string } {
  const refused = refusedTokens(events);
  const running = new Map<string, HistoryEvent>();
  let most = 0;
  let seen = '';
  const order = (event: HistoryEvent): number => (event.kind === 'started' ? 1 : 0);
  for (const event of [...events].sort((a, b) => a.at - b.at || order(a) - order(b))) {
    const { token = '' } = event;
    if (event.kind === 'started' && !refused.has(token)) running.set(token, event);
    else if (event.kind === 'ended') running.delete(token);
    else if (event.kind === 'killed') {
      for (const [key, { worker }] of running) if (worker === event.worker) running.delete(key);
    }
    if (running.size <= most) continue;
    most = running.size;
    seen = [...running.values()].map((each) => JSON.stringify(each)).join('\n');
  }
  return { most, refused: refused.size, seen };
}

/** Attempts that ended by themselves, and of which nobody then heard that storage took their result. */
function refusedTokens(events: readonly HistoryEvent[]): Set<string> {
  const of = (kind: HistoryEvent['kind']): Set<string> =>
    new Set(events.flatMap((event) => (event.kind === kind ? [event.token ?? ''] : [])));
  const settled = of('settled');
  const killed = new Set(events.flatMap(({ kind, worker }) => (kind === 'killed' ? [worker] : [])));
  const dead = events.filter(({ worker }) => killed.has(worker)).map(({ token }) => token ?? '');
  const known = new Set([...settled, ...dead]);
  return new Set([...of('ended')].filter((token) => !known.has(token)));
}
