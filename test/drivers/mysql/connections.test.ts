import { createServer, type Server, type Socket } from 'node:net';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/internal/uuid.js';
import type { ClaimRequest } from '../../../src/storage/claimed-job.js';
import { MysqlStorage } from '../../../src/storage/mysql/storage.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import { type ClaimWish, claimOf } from '../../support/claim-request.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { waitFor } from '../../support/wait-for.js';

describe.skipIf(!serverAvailable('mysql'))('[mysql] connections', () => {
  let database: TestDatabase;
  let admin: Connection;
  let storage: MysqlStorage;
  let queue: string;

  beforeAll(async () => {
    database = await testDatabase('mysql');
    admin = await createConnection({ uri: database.url });
    storage = await opened();
  });
  afterAll(async () => {
    await storage.close();
    admin.destroy();
    await database[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    queue = `q-${uuidv7()}`;
  });

  async function opened(options: { statementTimeoutMs?: number } = {}): Promise<MysqlStorage> {
    const one = new MysqlStorage({ url: database.url, migrate: 'auto', ...options });
    await one.open();
    return one;
  }

  const newJob = (with_: Partial<NewJob> = {}): NewJob => ({
    id: uuidv7(),
    name: 'work',
    queue,
    payload: '1',
    version: 1,
    tags: [],
    priority: 0,
    due: { inMs: 0 },
    maxAttempts: 3,
    retentionMs: null,
    unique: null,
    idempotency: null,
    after: null,
    limit: null,
    cost: 1,
    requires: [],
    ...with_,
  });

  const request = (with_: Partial<ClaimWish> = {}): ClaimRequest =>
    claimOf({
      token: uuidv7().replaceAll('-', ''),
      workerId: 'w',
      leaseMs: 45_000,
      queues: [queue],
      names: ['work'],
      limit: 100,
      start: 100,
      alone: false,
      ...with_,
    });

  async function connectionsOfStorages(): Promise<number[]> {
    const [rows] = await admin.query<(RowDataPacket & { id: number })[]>(
      'select id from information_schema.processlist where db = database() and id <> connection_id()',
    );
    return rows.map(({ id }) => id);
  }

  test('connections that are killed are opened again by the next calls, and nothing is lost', async () => {
    const jobs = Array.from({ length: 20 }, () => newJob());
    await storage.enqueue(jobs);
    for (const id of await connectionsOfStorages()) await admin.query(`kill ${id}`);
    const claimed = await waitFor(() => storage.claim(request()), {
      describe: 'a claim on a new connection',
    });
    expect(claimed.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    for (const id of await connectionsOfStorages()) await admin.query(`kill ${id}`);
    const settlements = claimed.map(
      ({ id, token }) => ({ id, token, kind: 'completed', result: null }) as const,
    );
    const outcomes = await waitFor(() => storage.settle(settlements), {
      describe: 'a settle on a new connection',
    });
    expect(new Set(outcomes)).toEqual(new Set(['done']));
  });

  test('a call in flight while its connection is killed fails as retryable, and can be repeated', async () => {
    const job = newJob();
    await storage.enqueue([newJob()]);
    await admin.query('set session transaction isolation level read committed');
    await admin.query('start transaction');
    await admin.query('select id from millrace_queues for update');
    // Its new lane has to wait for the row that is locked here.
    const waiting = storage.enqueue([{ ...job, priority: 77 }]).then(
      () => undefined,
      (error: unknown) => error,
    );
    const blocked = await waitFor(
      async () => {
        const [rows] = await admin.query<(RowDataPacket & { id: number })[]>(
          "select id from information_schema.processlist where db = database() and info like '%millrace_queues% set lanes%' and id <> connection_id()",
        );
        return rows[0]?.id;
      },
      { describe: 'the enqueue waiting for the lock' },
    );
    await admin.query(`kill ${blocked}`);
    expect(await waiting).toMatchObject({ code: 'connection-lost', retryable: true });
    await admin.query('rollback');
    expect(await storage.enqueue([{ ...job, priority: 77 }])).toEqual([{ outcome: 'created', id: job.id }]);
    expect(await storage.enqueue([{ ...job, priority: 77 }])).toEqual([{ outcome: 'replayed', id: job.id }]);
  });

  test('a lock that others hold is waited for no longer than the deadline, and the error says so', async () => {
    const impatient = await opened({ statementTimeoutMs: 1_000 });
    const job = newJob();
    await impatient.enqueue([job]);
    await admin.query('set session transaction isolation level read committed');
    await admin.query('start transaction');
    await admin.query('select id from millrace_ready for update');
    const before = performance.now();
    await expect(impatient.cancel(job.id)).rejects.toMatchObject({
      code: 'deadline-exceeded',
      retryable: true,
    });
    expect(performance.now() - before).toBeLessThan(5_000);
    await admin.query('rollback');
    await expect(waitFor(() => impatient.cancel(job.id), { describe: 'the cancel' })).resolves.toBeDefined();
    expect(await storage.job(job.id)).toMatchObject({ status: 'cancelled' });
    await impatient.close();
  });

  test('a server that accepts and then says nothing is given up on', async () => {
    await using silent = await silentServer();
    const lonely = new MysqlStorage({
      url: `mysql://root@127.0.0.1:${silent.port}/db`,
      statementTimeoutMs: 500,
    });
    const before = performance.now();
    await expect(lonely.open()).rejects.toMatchObject({ retryable: true });
    expect(performance.now() - before).toBeLessThan(5_000);
    await lonely.close();
  });

  test('nobody at the port, a wrong password, no such database: each has its own code', async () => {
    const { username, hostname, port, pathname } = new URL(database.url);
    const at = (user: string, portThere: string, path: string): MysqlStorage =>
      new MysqlStorage({ url: `mysql://${user}@${hostname}:${portThere}${path}` });
    const cases = [
      [at(username, '1', pathname), 'database-unreachable'],
      [at('nobody', port, pathname), 'database-access-denied'],
      [at(username, port, '/millrace_is_not_here'), 'database-not-found'],
    ] as const;
    for (const [one, code] of cases) await expect(one.open()).rejects.toMatchObject({ code });
  });

  test('after close every call fails as closed, and no connection is left', async () => {
    const one = await opened();
    await one.enqueue([newJob()]);
    await one.claim(request());
    const others = await connectionsOfStorages();
    await Promise.all([one.close(), one.close()]);
    await expect(one.claim(request())).rejects.toMatchObject({ code: 'closed' });
    await expect(one.enqueue([newJob()])).rejects.toMatchObject({ code: 'closed' });
    await waitFor(async () => (await connectionsOfStorages()).length <= others.length - 2, {
      describe: 'both connections to be gone',
    });
  });

  test('a priority that another process just used is claimed in its place', async () => {
    const other = await opened();
    await storage.enqueue([newJob()]);
    await storage.claim(request({ limit: 1 }));
    const late = newJob();
    const urgent = newJob({ priority: 42 });
    await other.enqueue([late, urgent]);
    expect((await storage.claim(request({ limit: 1 }))).map(({ id }) => id)).toEqual([urgent.id]);
    await other.close();
  });

  test.each(['work', 'other'])(
    'sixteen claimers at once take each job once, %s at the head',
    async (head) => {
      const claimers = await Promise.all(Array.from({ length: 16 }, () => opened()));
      const jobs = Array.from({ length: 800 }, () => newJob());
      const heads = Array.from({ length: 200 }, () => newJob({ name: head, priority: 5 }));
      for (const part of [heads, jobs]) await storage.enqueue(part);
      const taken: string[] = [];
      const expected = head === 'work' ? 1_000 : 800;
      await Promise.all(
        claimers.map(async (one) => {
          while (taken.length < expected) {
            const claimed = await one.claim(request({ limit: 7, start: 3 }));
            taken.push(...claimed.map(({ id }) => id));
            const outcomes = await one.settle(
              claimed.map(({ id, token }) => ({ id, token, kind: 'completed', result: null })),
            );
            expect(outcomes.every((outcome) => outcome === 'done')).toBe(true);
          }
        }),
      );
      expect(taken.length).toBe(expected);
      expect(new Set(taken).size).toBe(expected);
      await Promise.all(claimers.map((one) => one.close()));
    },
  );
});

async function silentServer(): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
