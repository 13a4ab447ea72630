import { describe, expect, test } from 'vitest';
import type { Engine } from '../../src/storage/capabilities.js';
import type { ClaimedJob } from '../../src/storage/claimed-job.js';
import type { Storage } from '../../src/storage/storage.js';
import { engineAvailable, openEngine, type TestEngine } from '../support/engines.js';
import { testSeed } from '../support/test-seed.js';
import { drainThroughTheSeam } from './drain.js';
import { execute } from './execute.js';
import { nextOperation } from './generate.js';
import { Random } from './random.js';
import { newWorld, type World } from './world.js';

const ROUNDS = 30;
const ACTORS = 6;
const CALLS = 25;

/**
 * Six actors at once make random calls about the same few jobs, through two objects. Nobody can say what each call
 * must answer; but none may fail, no job may be left waiting for what has ended, and everything can be brought to an end.
 */
export function stormSuite(engine: Exclude<Engine, 'memory'>): void {
  const seed = testSeed();

  describe.skipIf(!engineAvailable(engine))(`[${engine}] storm, MILLRACE_TEST_SEED=${seed}`, () => {
    test('random calls of many at once neither fail nor leave anything stuck', {
      timeout: 180_000,
    }, async () => {
      await using fixture = await openEngine(engine);
      const second = await fixture.another?.();
      const storages = second === undefined ? [fixture.storage] : [fixture.storage, second];
      for (let round = 0; round < ROUNDS; round += 1) await storm(fixture, storages, seed + round);
    });
  });
}

async function storm(fixture: TestEngine, storages: readonly Storage[], seed: number): Promise<void> {
  const random = new Random(seed);
  const world = newWorld((seed >>> 0).toString(16).padStart(8, '0'));
  const startMs = await fixture.storage.now();
  const actors = Array.from({ length: ACTORS }, (_, index) =>
    act(fixture, storages[index % storages.length] ?? fixture.storage, random, world, startMs),
  );
  await Promise.all(actors);
  const where = `seed ${seed}`;
  expect(await fixture.storage.releaseBlocked(1_000), `stranded dependents, ${where}`).toBe(0);
  await expectCountsToHold(fixture.storage, world, where);
  const left = await drainThroughTheSeam(fixture.storage, world, (ms) => fixture.clock.advance(ms));
  expect(left, `left after everything was ended, ${where}`).toEqual([]);
}

async function act(
  fixture: TestEngine,
  storage: Storage,
  random: Random,
  world: World,
  startMs: number,
): Promise<void> {
  for (let call = 0; call < CALLS; call += 1) {
    const operation = nextOperation(random, world);
    if (operation.method === 'advance') fixture.clock.advance(operation.ms);
    const answer = await execute(storage, operation, startMs);
    expect(failureIn(answer), `${operation.method} must not fail`).toBeNull();
    if (operation.method === 'claim') remember(world, answer as ClaimedJob[]);
    if (operation.method === 'exchange') remember(world, (answer as { claimed: ClaimedJob[] }).claimed);
  }
}

function failureIn(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'threw' in answer ? answer.threw : null;
}

function remember(world: World, claimed: readonly ClaimedJob[]): void {
  world.leases.push(...claimed.map(({ id, token }) => ({ id, token })));
}

/** Lists, counts and claims tell of the same jobs. */
async function expectCountsToHold(storage: Storage, world: World, where: string): Promise<void> {
  for (const queue of world.queues) {
    await storage.setPaused(queue, false);
    const { jobs } = await storage.jobs({ queue }, { limit: 1_000 });
    const [stats] = await storage.stats(queue);
    for (const status of ['pending', 'blocked', 'processing'] as const) {
      expect(stats?.[status], `${status} of ${queue}, ${where}`).toBe(
        jobs.filter((job) => job.status === status).length,
      );
    }
  }
}
