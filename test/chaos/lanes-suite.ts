import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { JobDefinition } from '../../src/client/job-definition.js';
import { Millrace } from '../../src/client/millrace.js';
import type { LogFields, Logger } from '../../src/internal/logger.js';
import type { Engine } from '../../src/storage/capabilities.js';
import { Random } from '../model/random.js';
import { emptyDatabase, engineAvailable } from '../support/engines.js';
import { act, actBriefly, actInline } from '../support/lane-jobs.mjs';
import { childrenOf, membersOfGroups } from '../support/process-groups.js';
import { quietStderr } from '../support/quiet-stderr.js';
import { testSeed } from '../support/test-seed.js';
import { waitFor } from '../support/wait-for.js';

const module = pathToFileURL(fileURLToPath(new URL('../support/lane-module.mjs', import.meta.url)));
const deadlineMs = 300_000;

/** How many of which, and how each must end. */
const cast: readonly { job: string; do: string; count: number; ends: object; more?: object }[] = [
  { job: 'act', do: 'echo', count: 80, ends: { status: 'completed', deaths: 0, attempts: 0 } },
  { job: 'act', do: 'burn', count: 20, more: { ms: 20 }, ends: { status: 'completed', attempts: 0 } },
  { job: 'act', do: 'big', count: 5, more: { bytes: 900_000 }, ends: { status: 'completed' } },
  { job: 'act', do: 'log', count: 10, ends: { status: 'completed' } },
  { job: 'act', do: 'dispatch', count: 10, more: { input: { do: 'echo' } }, ends: { status: 'completed' } },
  { job: 'act', do: 'leave-process', count: 5, ends: { status: 'completed' } },
  {
    job: 'act',
    do: 'throw',
    count: 15,
    ends: { status: 'buried', reason: 'attempts-exhausted', attempts: 3 },
  },
  { job: 'act', do: 'throw-for-good', count: 10, ends: { status: 'buried', reason: 'non-retriable' } },
  { job: 'act', do: 'cancel', count: 5, ends: { status: 'cancelled' } },
  { job: 'act', do: 'abort', count: 4, ends: { status: 'buried', reason: 'poison', deaths: 3, attempts: 0 } },
  { job: 'act', do: 'exit', count: 4, ends: { status: 'buried', reason: 'poison', deaths: 3, attempts: 0 } },
  { job: 'act', do: 'segfault', count: 2, ends: { status: 'buried', reason: 'poison', deaths: 3 } },
  { job: 'act', do: 'reject-unseen', count: 2, ends: { status: 'buried', reason: 'poison', deaths: 3 } },
  { job: 'act', do: 'leak-buffers', count: 1, ends: { status: 'buried', reason: 'poison', deaths: 3 } },
  {
    job: 'act-briefly',
    do: 'spin',
    count: 4,
    ends: { status: 'buried', reason: 'attempts-exhausted', deaths: 0 },
  },
  { job: 'act-briefly', do: 'wait-deaf', count: 3, ends: { status: 'buried', reason: 'attempts-exhausted' } },
  { job: 'act-inline', do: 'echo', count: 20, ends: { status: 'completed', deaths: 0, attempts: 0 } },
];

/** Two lanes, and jobs that do to them all that jobs do. */
export function lanesChaosSuite(engine: Engine): void {
  const seed = testSeed();

  describe.skipIf(!engineAvailable(engine))(`[${engine}] lanes, MILLRACE_TEST_SEED=${seed}`, () => {
    test('200 jobs that crash, leak, spin and litter over two lanes each end as they must, and leave no process', {
      timeout: deadlineMs + 60_000,
    }, async () => {
      using _quiet = quietStderr();
      await using database = await emptyDatabase(engine);
      process.env['MILLRACE_TEST_LANE_DATABASE'] = database.address;
      const { logger, groups } = pidCollector();
      const jobs: readonly JobDefinition[] = [act, actBriefly, actInline] as never;
      await using millrace = new Millrace({
        database: database.address,
        jobs,
        logger,
        migrate: 'auto',
        workerSleep: '200ms',
        killGrace: '200ms',
        laneMaxMemory: '256MB',
      });
      const worker = millrace.worker({ module, processLanes: 2 });
      await worker.start();
      const order = shuffled(new Random(seed));
      expect(order).toHaveLength(200);
      const handles = await millrace.dispatchMany(
        order.map(({ job, do: what, more = {} }) => ({ job, input: { do: what, ...more } })),
      );
      await untilAllEnded(millrace);
      for (const [index, { do: what, ends }] of order.entries()) {
        const job = await millrace.job(handles[index]?.id ?? '');
        expect({ what, ...job }).toMatchObject({ what, ...ends });
      }
      for (const pid of childrenOf(process.pid)) groups.add(pid);
      await worker.stop();
      await waitFor(() => membersOfGroups(groups).length === 0, {
        describe: () => `no process of a lane to be left, there are ${membersOfGroups(groups)}`,
      });
      expect(groups.size).toBeGreaterThan(30);
    });
  });
}

/** The backoff of deaths is 5 s and more: an operator does not wait for it. */
async function untilAllEnded(millrace: Millrace): Promise<void> {
  const hasEnded = async (): Promise<boolean> => {
    await millrace.editMany({ where: { status: 'pending' }, edit: { delay: 0 } });
    const { pending, processing } = await millrace.stats('default');
    return pending + processing === 0;
  };
  await waitFor(hasEnded, { describe: 'every job to have ended', deadlineMs, intervalMs: 500 });
}

function shuffled(random: Random) {
  const order = cast.flatMap((role) => Array.from({ length: role.count }, () => role));
  for (let index = order.length - 1; index > 0; index -= 1) {
    const other = random.int(index + 1);
    [order[index], order[other]] = [order[other] as (typeof order)[0], order[index] as (typeof order)[0]];
  }
  return order;
}

/** The log tells of each process of a lane that has ended. */
function pidCollector(): { logger: Logger; groups: Set<number> } {
  const groups = new Set<number>();
  const take = (_message: string, { pid }: LogFields = {}): void => {
    if (typeof pid === 'number') groups.add(pid);
  };
  return { logger: { debug: take, info: take, warn: take, error: take }, groups };
}
