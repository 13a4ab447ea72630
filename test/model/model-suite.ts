import { afterAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/storage/capabilities.js';
import type { Storage } from '../../src/storage/storage.js';
import { engineAvailable, openEngine, type TestClock } from '../support/engines.js';
import { testSeed } from '../support/test-seed.js';
import { inTurn, seamMethods } from './call-record.js';
import { nextOperation } from './generate.js';
import { type Difference, Lockstep } from './lockstep.js';
import type { Operation } from './operation.js';
import { Random } from './random.js';
import { report, shrink } from './shrink.js';

export interface ModelSuiteOptions {
  readonly engine: Engine;
  readonly sequences: number;
}

const OPERATIONS = 50;
/** Runs a test; a failure names the one that failed. */
const CHUNKS = 10;
/** Of a hundred sequences some two meet jobs that one call made due together. */
const MOST_TIED = 0.1;

/** Random calls in random order: whatever the engine answers and shows, the memory storage answers and shows too. */
export function modelSuite({ engine, sequences }: ModelSuiteOptions): void {
  const seed = testSeed();

  describe.skipIf(!engineAvailable(engine))(
    `[${engine}] against the model, MILLRACE_TEST_SEED=${seed}`,
    () => {
      const calls = new Set<string>();
      let opened: Opened | undefined;
      let isFirstFailure = true;
      const close = async (): Promise<void> => {
        await opened?.[Symbol.asyncDispose]();
        opened = undefined;
      };
      let ties = 0;
      const sequence = async (index: number): Promise<FailedSequence | null> => {
        opened ??= await openInTurn(engine, calls);
        const answer = await runSequence(opened.storage, opened.clock, seed + index);
        if (answer !== 'tied') return answer;
        ties += 1;
        return null;
      };
      afterAll(close);

      for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
        const size = sequences / CHUNKS;
        const first = chunk * size;
        test(`sequences ${first} to ${first + size - 1} agree`, { timeout: 180_000 }, async () => {
          for (let index = first; index < first + size; index += 1) {
            const failed = await sequence(index);
            if (failed === null) continue;
            // What it left behind must not fail the next one.
            await close();
            // Shrinking takes its time: the first failure has it, later ones are told as they are.
            const shown = isFirstFailure ? await shrunk(engine, failed) : failed;
            isFirstFailure = false;
            expect.fail(`sequence ${index} of MILLRACE_TEST_SEED=${seed}:\n${report(shown)}`);
          }
        });
      }

      test('few of them ended at a tie', () => {
        expect(ties).toBeLessThanOrEqual(sequences * MOST_TIED);
      });

      test('every method of the seam was met', () => {
        const missing = [...seamMethods].filter((method) => !calls.has(method));
        expect(missing).toEqual([]);
      });
    },
  );
}

interface Opened extends AsyncDisposable {
  readonly storage: Storage;
  readonly clock: TestClock;
}

/** An empty database behind two objects that are called in turn, where the engine has a second one. */
async function openInTurn(engine: Engine, calls: Set<string>): Promise<Opened> {
  const fixture = await openEngine(engine);
  const second = fixture.another === undefined ? [] : [await fixture.another()];
  return {
    storage: inTurn([fixture.storage, ...second], calls),
    clock: fixture.clock,
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

export interface FailedSequence {
  readonly operations: readonly Operation[];
  readonly run: string;
  readonly difference: Difference;
}

/** Draws one sequence and makes its calls; null when engine and model agree to the end, `tied` when they do up to a tie. */
export async function runSequence(
  storage: Storage,
  clock: TestClock,
  seed: number,
): Promise<FailedSequence | 'tied' | null> {
  const random = new Random(seed);
  const run = newRun();
  const lockstep = new Lockstep(run, storage, clock);
  const operations: Operation[] = [];
  await lockstep.start();
  let difference: Difference | null = null;
  while (operations.length < OPERATIONS && difference === null && !lockstep.isTied) {
    const operation = nextOperation(random, lockstep.world);
    operations.push(operation);
    difference = await lockstep.step(operation);
  }
  if (!lockstep.isTied) difference ??= await lockstep.lookClosely();
  difference ??= await lockstep.drain();
  if (lockstep.isTied && difference === null) return 'tied';
  return difference === null ? null : { operations, run, difference };
}

/** A shorter sequence that still differs, each try in a database of its own. */
function shrunk(engine: Engine, failed: FailedSequence): Promise<FailedSequence> {
  return shrink(failed, async (operations) => {
    await using fresh = await openInTurn(engine, new Set());
    return await replay(fresh.storage, fresh.clock, failed.run, operations);
  });
}

async function replay(
  storage: Storage,
  clock: TestClock,
  run: string,
  operations: readonly Operation[],
): Promise<FailedSequence | null> {
  const lockstep = new Lockstep(run, storage, clock);
  lockstep.world.ids.push(
    ...new Set(
      operations.flatMap((each) => (each.method === 'enqueue' ? each.jobs.map(({ id }) => id) : [])),
    ),
  );
  await lockstep.start();
  for (const operation of operations) {
    const difference = await lockstep.step(operation);
    if (lockstep.isTied) return null;
    if (difference !== null) return { operations, run, difference };
  }
  const difference = (await lockstep.lookClosely()) ?? (await lockstep.drain());
  return difference === null ? null : { operations, run, difference };
}

let runs = Math.floor(Date.now() / 1_000) % 0x10000000;

/** Eight hex characters that no other run of this database has. */
function newRun(): string {
  runs += 1;
  return runs.toString(16).padStart(8, '0');
}
