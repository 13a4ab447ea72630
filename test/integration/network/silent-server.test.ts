import { createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { createStorage } from '../../../src/storage/open-storage.js';
import { emptyDatabase, engineAvailable } from '../../support/engines.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

const schemes = { postgres: 'postgres', mysql: 'mysql' } as const;
/** A connection takes at most 10 s to be made, and what is asked over it first a few more. */
const longestOpenMs = 17_000;

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`[${engine}] a server that accepts and says nothing`, () => {
    const client = (url: string, options = {}) =>
      new Millrace({ database: url, jobs: [defineJob('work', { run: () => 1 })], ...options });

    test('costs a dispatch its own deadline, which says so', async () => {
      await using silent = await silentServer();
      await using millrace = client(silent.url(engine), { dispatchTimeout: '300ms' });
      const startedAt = performance.now();
      await expect(millrace.dispatch('work', {})).rejects.toMatchObject({
        code: 'deadline-exceeded',
        message: expect.stringMatching(/dispatch of job "work".*not confirmed within 300ms/),
      });
      expect(performance.now() - startedAt).toBeLessThan(3_000);
      silent.hangUp();
    });

    test('keeps no client from being closed, unless it still owes a dispatch its deadline', async () => {
      await using silent = await silentServer();
      const millrace = client(silent.url(engine));
      const opened = millrace.open().catch((error: unknown) => error);
      await waitFor(() => silent.size > 0, { describe: 'the client to try to connect' });
      const askedAt = performance.now();
      await millrace.close();
      expect(performance.now() - askedAt).toBeLessThan(5_000);
      silent.hangUp();
      expect(await opened).toBeInstanceOf(Error);
    });

    test('keeps no worker from being stopped while it starts', async () => {
      await using silent = await silentServer();
      await using millrace = client(silent.url(engine));
      const worker = millrace.worker();
      const started = worker.start().catch((error: unknown) => error);
      await waitFor(() => silent.size > 0, { describe: 'the worker to try to connect' });
      const askedAt = performance.now();
      await worker.stop({ deadlineMs: 100 });
      expect(performance.now() - askedAt).toBeLessThan(3_000);
      expect(await started).toBeInstanceOf(Error);
      silent.hangUp();
    });
  });

  describe.skipIf(!engineAvailable(engine))(`[${engine}] a server that falls silent`, () => {
    test('after any of the first answers of a connection costs a bounded time, named', {
      timeout: 40_000,
    }, async () => {
      await using database = await emptyDatabase(engine);
      const ready = await createStorage(database.address, { migrate: 'auto' });
      await ready.open();
      await ready.close();
      const silences = await Promise.all(
        [1, 2, 3, 4, 5, 6, 7, 8].map(async (piece) => {
          await using proxy = await tcpProxy(database.address);
          proxy.dropAnswers((nth) => nth === piece, 'silence');
          const storage = await createStorage(proxy.url, { statementTimeoutMs: 2_000 });
          const startedAt = performance.now();
          const error: unknown = await storage.open().then(
            () => null,
            (thrown: unknown) => thrown,
          );
          await storage.close();
          return { piece, error, tookMs: performance.now() - startedAt, wasSilent: proxy.dropped > 0 };
        }),
      );
      for (const { error, tookMs, wasSilent } of silences) {
        expect(tookMs).toBeLessThan(longestOpenMs);
        if (!wasSilent) continue;
        expect(error).toMatchObject({ retryable: true });
        expect(String(error)).toMatch(/connect|deadline|not done within|no answer within|timeout/i);
      }
      expect(silences.filter(({ wasSilent }) => wasSilent).length).toBeGreaterThan(1);
    });

    test('while jobs run leaves them running, and takes their results once it speaks again', {
      timeout: 60_000,
    }, async () => {
      await using database = await emptyDatabase(engine);
      await using proxy = await tcpProxy(database.address);
      let runs = 0;
      let release = (): void => undefined;
      const held = defineJob('held', {
        run: () => {
          runs += 1;
          return new Promise<string>((resolve) => {
            release = () => resolve('whole');
          });
        },
      });
      await using millrace = new Millrace({
        database: proxy.url,
        jobs: [held],
        migrate: 'auto',
        databaseTimeout: '1s',
        workerSleep: '100ms',
      });
      await using worker = millrace.worker();
      await worker.start();
      const handle = await millrace.dispatch(held, {});
      await waitFor(() => runs === 1, { describe: 'the job to run' });
      proxy.freeze({ direction: 'to-client' });
      await waitFor(() => worker.lifecycle === 'RECONNECTING', { describe: 'the worker to notice' });
      release();
      await waitFor(() => worker.running === 0, { describe: 'the handler to end' });
      proxy.thaw();
      expect(await handle.result({ timeout: '20s' })).toBe('whole');
      expect(runs).toBe(1);
      await waitFor(() => worker.lifecycle === 'RUNNING', { describe: 'the worker to be well again' });
    });
  });
}

describe.skipIf(!engineAvailable('postgres'))(
  '[postgres] a connection for wake-ups that is half open',
  () => {
    test('delays jobs by the poll at most', async () => {
      await using database = await emptyDatabase('postgres');
      await using proxy = await tcpProxy(database.address);
      const work = defineJob('work', { run: () => 'done' });
      await using millrace = new Millrace({
        database: proxy.url,
        jobs: [work],
        migrate: 'auto',
        workerSleep: '300ms',
      });
      await using worker = millrace.worker();
      await worker.start();
      await worker.idle();
      await using elsewhere = new Millrace({ database: database.address });
      proxy.freeze({ direction: 'to-client', having: 'listen "' });
      for (let n = 0; n < 3; n += 1) {
        const handle = await elsewhere.dispatch('work', {});
        expect(await handle.result({ timeout: '3s' })).toBe('done');
      }
    });
  },
);

/** Takes connections and never answers. */
async function silentServer(): Promise<
  { url(engine: keyof typeof schemes): string; readonly size: number; hangUp(): void } & AsyncDisposable
> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const hangUp = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: (engine) => `${schemes[engine]}://nobody:nothing@127.0.0.1:${port}/nowhere`,
    get size() {
      return sockets.size;
    },
    hangUp,
    [Symbol.asyncDispose]: () => Promise.resolve(hangUp()),
  };
}
