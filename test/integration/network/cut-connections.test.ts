import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import { Random } from '../../model/random.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { killSessions } from '../../support/kill-sessions.js';
import { type TcpProxy, tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

const settings = {
  migrate: 'auto',
  workerSleep: '100ms',
  dispatchTimeout: '60s',
  killGrace: '100ms',
} as const;

/** A job that fails its first attempt when asked to, and counts its runs. */
function counting(): { job: JobDefinition; runs: Map<number, number> } {
  const runs = new Map<number, number>();
  const job = defineJob('count', {
    backoff: { type: 'fixed', base: 1 },
    run: async ({
      input,
      attempt,
      log,
    }: {
      input: { n: number; fails: boolean };
      attempt: number;
      log: { info(text: string): void };
    }) => {
      runs.set(input.n, (runs.get(input.n) ?? 0) + 1);
      log.info(`run of ${input.n}`);
      await new Promise((resolve) => setTimeout(resolve, 1 + (input.n % 10)));
      if (input.fails && attempt === 1) throw new Error('as asked');
      return input.n;
    },
  }) as unknown as JobDefinition;
  return { job, runs };
}

/** On a busy machine a transaction can take longer than the pause between two cuts: they must come to an end. */
function timesAtMost<T>(most: number, act: () => T): () => T | undefined {
  let times = 0;
  return () => {
    times += 1;
    return times <= most ? act() : undefined;
  };
}

for (const engine of ['postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] workers whose connections die`, () => {
    const trials: Record<
      string,
      { jobs: number; disturb: (proxy: TcpProxy, address: string) => Promise<AsyncDisposable> }
    > = {
      'by losing one answer in fifteen': {
        jobs: 120,
        disturb: (proxy) => {
          const random = new Random(7);
          proxy.dropAnswers(() => random.chance(1 / 15));
          return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve(proxy.dropAnswers(null)) });
        },
      },
      'by a reset of all, four times a second': {
        jobs: 200,
        disturb: async (proxy) =>
          every(
            250,
            timesAtMost(20, () => proxy.cut('reset')),
          ),
      },
      'by their server, which ends every session again and again': {
        jobs: 500,
        disturb: async (_, address) => {
          const killer = await killSessions(engine, address);
          const ticking = every(
            250,
            timesAtMost(20, () => killer.killAll()),
          );
          return {
            async [Symbol.asyncDispose]() {
              await ticking[Symbol.asyncDispose]();
              await killer[Symbol.asyncDispose]();
            },
          };
        },
      },
    };

    test.each(Object.keys(trials))('%s lose no job and double none', { timeout: 60_000 }, async (name) => {
      const { jobs, disturb } = trials[name] as (typeof trials)[string];
      await using database = await emptyDatabase(engine);
      await using proxy = await tcpProxy(database.address);
      const { job, runs } = counting();
      await using millrace = new Millrace({ database: proxy.url, jobs: [job], ...settings });
      await millrace.open();
      await using first = millrace.worker({ concurrency: 5 });
      await using second = millrace.worker({ concurrency: 5 });
      await Promise.all([first.start(), second.start()]);
      {
        await using _ = await disturb(proxy, database.address);
        const inputs = Array.from({ length: jobs }, (_unused, n) => ({ n, fails: n % 20 === 0 }));
        const half = inputs.splice(0, jobs / 2);
        const bulk = await millrace.dispatchMany(half.map((input) => ({ job: 'count', input })));
        const single = await Promise.all(inputs.map((input) => millrace.dispatch('count', input)));
        const results = await Promise.all(
          [...bulk, ...single].map((handle) => handle.result({ timeout: '50s' })),
        );
        expect(results).toEqual(Array.from({ length: jobs }, (_unused, n) => n));
      }
      const wanted = Array.from({ length: jobs }, (_unused, n) => [n, n % 20 === 0 ? 2 : 1]);
      expect([...runs].sort(([a], [b]) => a - b)).toEqual(wanted);
      const stats = await waitFor(() => millrace.stats('default'), { describe: 'the counts' });
      expect(stats).toMatchObject({ pending: 0, processing: 0, completed: jobs, buried: 0, cancelled: 0 });
      await waitFor(() => first.lifecycle === 'RUNNING' && second.lifecycle === 'RUNNING', {
        describe: 'both workers to run',
      });
    });
  });
}

function every(ms: number, act: () => unknown): AsyncDisposable {
  let under: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    under = under.then(act).catch(() => undefined);
  }, ms);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await under;
    },
  };
}
