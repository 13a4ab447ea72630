import { describe, expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import type { Engine } from '../../src/storage/capabilities.js';
import { Random } from '../model/random.js';
import { engineAvailable, openEngine, type TestEngine } from '../support/engines.js';
import { checkHistory, type HistoryEvent } from '../support/history.js';
import { tempDir } from '../support/temp.js';
import { testSeed } from '../support/test-seed.js';
import { waitFor } from '../support/wait-for.js';
import { Herd } from './herd.js';
import { limitsChaos } from './limits-chaos.js';

const JOBS = 5_000;
const WORKERS = 3;
const JOBS_A_KILL = 200;
const LEASE_MS = 3_000;
/** Of the tail: a lease, and the backoff after a second death (at most 10 s) under way when the killing ends. */
const DEADLINE_MS = 60_000;

const client = { staleTimeout: LEASE_MS, heartbeat: 500, workerSleep: 200, killGrace: 200 } as const;

interface ChaosInput {
  readonly ms: number;
  readonly failures: number;
  readonly snoozes: number;
  readonly chatty: boolean;
}

const work = defineJob('chaos', { attempts: 20, run: (_: { input: ChaosInput }) => undefined });

/** Real workers, killed without warning while there is work; then what they wrote down is judged. */
export function chaosSuite(engine: Exclude<Engine, 'memory'>): void {
  const seed = testSeed();

  describe.skipIf(!engineAvailable(engine))(`[${engine}] chaos, MILLRACE_TEST_SEED=${seed}`, () => {
    test('workers killed at random through 5,000 jobs lose none, overlap none and settle each once', {
      timeout: DEADLINE_MS + 60_000,
    }, async () => {
      await using fixture = await openEngine(engine);
      await using dir = tempDir('chaos');
      await using herd = new Herd({
        url: fixture.address,
        folder: dir.path,
        client,
        worker: { concurrency: 5 },
      });
      const random = new Random(seed);
      const enqueued = await dispatchAll(fixture, random);
      for (let count = 0; count < WORKERS; count += 1) herd.spawn();
      const kills = await killOnTheWay(fixture, herd, random);
      await waitFor(async () => (await open(fixture)) === 0, {
        describe: 'every job to have ended',
        deadlineMs: DEADLINE_MS,
        intervalMs: 200,
      });
      await herd.stop();
      const events = [...enqueued, ...herd.events()].map(withCertainLease);
      expect(kills).toBeGreaterThanOrEqual(10);
      expect(interrupted(events)).toBeGreaterThan(0);
      expect(checkHistory([...events, ...(await endingsNobodyTold(fixture, events))])).toEqual([]);
      await expectSoundDatabase(fixture, enqueued);
    });

    limitsChaos(engine, seed);
  });
}

/** A fifth of them fail once, some are put off, some wait for others. */
async function dispatchAll({ address }: TestEngine, random: Random): Promise<HistoryEvent[]> {
  await using millrace = new Millrace({ database: address, jobs: [work] });
  const entries = Array.from({ length: JOBS }, () => ({
    job: work,
    input: {
      ms: random.int(25),
      failures: random.chance(0.2) ? 1 : 0,
      snoozes: random.chance(0.1) ? 1 : 0,
      chatty: random.chance(0.2),
    },
  }));
  const first = await millrace.dispatchMany(entries.slice(0, JOBS / 2));
  const second = await millrace.dispatchMany(
    entries.slice(JOBS / 2).map((entry, index) => {
      const parent = first[index]?.id ?? '';
      return random.chance(0.3)
        ? { ...entry, options: { after: { jobs: [parent], onFailure: 'run' } } }
        : entry;
    }),
  );
  return [...first, ...second].map(({ id }) => ({ at: 0, kind: 'enqueued', jobId: id }));
}

/**
 * One is killed, and another begun, each time some hundred jobs have ended. The last part is left to those who live, so
 * that the end does not wait for ever longer backoffs.
 */
async function killOnTheWay(fixture: TestEngine, herd: Herd, random: Random): Promise<number> {
  await herd.oneReady();
  let kills = 0;
  for (let left = JOBS; left > JOBS / 5; kills += 1) {
    const next = left - random.between(JOBS_A_KILL / 2, (JOBS_A_KILL * 3) / 2);
    await waitFor(
      async () => {
        left = await open(fixture);
        return left <= next;
      },
      { describe: `at most ${next} jobs to be left`, deadlineMs: DEADLINE_MS, intervalMs: 20 },
    );
    herd.kill(random);
    herd.spawn();
  }
  return kills;
}

async function open({ storage }: TestEngine): Promise<number> {
  const [stats] = await storage.stats('default');
  return (stats?.pending ?? 0) + (stats?.blocked ?? 0) + (stats?.processing ?? 0);
}

/** Handlers take a fraction of a second: for this long their lease holds even if nobody renews it. */
function withCertainLease(event: HistoryEvent): HistoryEvent {
  return event.kind === 'started' ? { ...event, leaseUntil: event.at + LEASE_MS / 2 } : event;
}

/** Attempts that began and did not end: without them the kills would have proven nothing. */
function interrupted(events: readonly HistoryEvent[]): number {
  const ended = new Set(events.filter(({ kind }) => kind === 'ended').map(({ token }) => token));
  return events.filter(({ kind, token }) => kind === 'started' && !ended.has(token)).length;
}

/** What was committed by a worker that was killed before it could write that down, and poison, which the rescuer buries. */
async function endingsNobodyTold(
  { storage }: TestEngine,
  events: readonly HistoryEvent[],
): Promise<HistoryEvent[]> {
  const told = new Set(events.filter(isFinalSettlement).map(({ jobId }) => jobId));
  const lastEnded = new Map(
    events.filter(({ kind }) => kind === 'ended').map((event) => [event.jobId, event]),
  );
  const untold = events.flatMap(({ kind, jobId }) =>
    kind === 'enqueued' && jobId !== undefined && !told.has(jobId) ? [jobId] : [],
  );
  const endings = await storage.endings(untold);
  return endings.flatMap(({ id, status }): HistoryEvent[] => {
    const { token = 'nobody', worker = 'nobody' } = lastEnded.get(id) ?? {};
    const known = { at: Number.MAX_SAFE_INTEGER, kind: 'settled', jobId: id, token, worker } as const;
    if (status === 'completed') return [{ ...known, verdict: 'completed' }];
    return status === 'buried' ? [{ ...known, token: 'rescuer', worker: 'rescuer', verdict: 'buried' }] : [];
  });
}

function isFinalSettlement({ kind, verdict }: HistoryEvent): boolean {
  return kind === 'settled' && (verdict === 'completed' || verdict === 'buried');
}

/** The counters add up, nothing is held, and nothing stands twice. */
async function expectSoundDatabase(
  { storage }: TestEngine,
  enqueued: readonly HistoryEvent[],
): Promise<void> {
  await storage.tidy({ settled: JOBS, idle: true });
  const [stats] = await storage.stats('default');
  expect(stats).toMatchObject({ pending: 0, blocked: 0, processing: 0, cancelled: 0 });
  expect((stats?.completed ?? 0) + (stats?.buried ?? 0)).toBe(JOBS);
  const ids = enqueued.flatMap(({ jobId }) => (jobId === undefined ? [] : [jobId]));
  for (let start = 0; start < ids.length; start += 1_000) {
    expect(await storage.endings(ids.slice(start, start + 1_000))).toHaveLength(1_000);
  }
}
