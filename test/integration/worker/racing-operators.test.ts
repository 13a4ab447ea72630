import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { Random } from '../../model/random.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';

const count = 150;
const seed = 20;

for (const engine of ['memory', 'sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(
    `[${engine}] operators who change jobs while two workers run them`,
    () => {
      test(`see every job end once, and nothing run without its lease (seed ${seed})`, {
        timeout: 60_000,
      }, async () => {
        await using database = await emptyDatabase(engine);
        const running = new Set<string>();
        const overlaps: string[] = [];
        const runs = new Map<string, number>();
        const work = defineJob('work', {
          attempts: 2,
          backoff: { type: 'fixed', base: 1 },
          run: async ({ job, signal, input }: JobContext<number>) => {
            if (running.has(job.id)) overlaps.push(job.id);
            running.add(job.id);
            runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
            await new Promise((resolve) => setTimeout(resolve, input % 7));
            running.delete(job.id);
            if (input % 5 === 0 && runs.get(job.id) === 1) throw new Error('once');
            return signal.aborted ? 'aborted' : 'whole';
          },
        });
        const options = { jobs: [work], migrate: 'auto', workerSleep: '100ms', killGrace: '1s' } as const;
        await using first = new Millrace({ database: database.address, ...options });
        await first.open();
        // Memory belongs to one client.
        await using second =
          engine === 'memory' ? null : new Millrace({ database: database.address, ...options });
        const clients = second === null ? [first] : [first, second];
        const completed = new Map<string, number>();
        for (const client of clients) {
          client.on('job:completed', ({ id }) => completed.set(id, (completed.get(id) ?? 0) + 1));
        }
        const workers = clients.map((client) => client.worker({ concurrency: 5 }));
        const handles = await first.dispatchMany(
          Array.from({ length: count }, (_, n) => ({ job: work, input: n })),
        );
        const parents = handles.map(({ id }) => id);
        const children = await first.dispatchMany(
          parents.slice(0, 40).map((after, n) => ({
            job: work,
            input: n,
            options: { after: { jobs: after, onFailure: (['bury', 'cancel', 'run'] as const)[n % 3] } },
          })),
        );
        const ids = [...parents, ...children.map(({ id }) => id)];
        const random = new Random(seed);
        await Promise.all(workers.map((worker) => worker.start()));
        const retried = new Map<string, number>();
        await Promise.all(
          [0, 1, 2, 3].map(async (n) => {
            const operator = clients[n % clients.length] ?? first;
            for (let step = 0; step < 60; step += 1) {
              const id = random.pick(ids);
              const act = random.pick(['cancel', 'bury', 'delete', 'retry', 'retry', 'pause'] as const);
              if (act === 'pause') {
                await operator.pause('default');
                await operator.resume('default');
              } else if ((await operator[act](id)) === 'done' && act === 'retry') {
                retried.set(id, (retried.get(id) ?? 0) + 1);
              }
            }
          }),
        );
        await waitFor(
          async () => {
            const stats = await first.stats('default');
            return stats.pending + stats.blocked + stats.processing === 0;
          },
          { describe: 'every job to have ended', deadlineMs: 30_000 },
        );
        await waitFor(() => workers.every((worker) => worker.running === 0), {
          describe: 'the workers to be idle',
        });
        expect(overlaps).toEqual([]);
        expect([...completed].filter(([, times]) => times !== 1)).toEqual([]);
        const stats = await first.stats('default');
        expect(stats.completed).toBe(completed.size);
        for (const id of ids) {
          const job = await first.job(id);
          if (job !== null) expect(['completed', 'buried', 'cancelled']).toContain(job.status);
          if (job?.status === 'completed') expect(completed.get(id)).toBe(1);
          expect(job?.deaths ?? 0).toBe(0);
          // Two attempts, and a fresh set of them for each retry.
          expect(runs.get(id) ?? 0).toBeLessThanOrEqual(2 * (1 + (retried.get(id) ?? 0)));
        }
        const storage = await first.internals.storage();
        for (const worker of workers) expect(await storage.held(worker.incarnation)).toEqual([]);
        await Promise.all(workers.map((worker) => worker.stop()));
      });
    },
  );
}
