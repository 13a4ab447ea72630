import { randomBytes } from 'node:crypto';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uuidv7 } from '../../../src/internal/uuid.js';
import type { ClaimedJob } from '../../../src/storage/claimed-job.js';
import { noBudgets } from '../../../src/storage/job-limit.js';
import { MysqlStorage } from '../../../src/storage/mysql/storage.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';

const day = 86_400_000;

describe.skipIf(!serverAvailable('mysql'))('[mysql] what is kept of lines', () => {
  let database: TestDatabase;
  let admin: Connection;
  let offsetMs = 0;
  const opened: MysqlStorage[] = [];

  beforeAll(async () => {
    database = await testDatabase('mysql');
    admin = await createConnection({ uri: database.url });
  });
  afterAll(async () => {
    for (const storage of opened) await storage.close();
    admin.destroy();
    await database[Symbol.asyncDispose]();
  });

  /** Each sweeps at its first tidying. */
  async function open(): Promise<MysqlStorage> {
    const clock = { offsetMs: () => offsetMs };
    const storage = new MysqlStorage({ url: database.url, migrate: 'auto', clock });
    await storage.open();
    opened.push(storage);
    return storage;
  }

  async function count(table: string): Promise<number> {
    const [rows] = await admin.query<(RowDataPacket & { n: number })[]>(
      `select count(*) as n from millrace_${table}${table === 'lanes' ? ' where line > 0' : ''}`,
    );
    return Number(rows[0]?.n);
  }

  const limited = (queue: string, key: string): NewJob => ({
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
    limit: { group: 'tenants', key, max: 1 },
    cost: 1,
    requires: [],
  });

  const claim = (storage: MysqlStorage, queue: string): Promise<ClaimedJob[]> =>
    storage.claim({
      token: randomBytes(16).toString('hex'),
      workerId: 'w',
      leaseMs: 45_000,
      takes: [{ queues: [queue], names: ['work'], limit: 1_000, start: 1_000 }],
      labels: [],
      budgets: noBudgets,
      alone: false,
    });

  const complete = async (storage: MysqlStorage, jobs: readonly ClaimedJob[]): Promise<void> => {
    const outcomes = await storage.settle(
      jobs.map(({ id, token }) => ({ id, token, kind: 'completed', result: null })),
    );
    expect(new Set(outcomes)).toEqual(new Set(['done']));
  };

  test('lanes go when they are idle, lines and gates with their jobs, and dispatchers that remember them go on', async () => {
    const storage = await open();
    const keys = Array.from({ length: 300 }, (_, index) => `tenant ${index}`);
    await storage.enqueue(keys.map((key) => limited('tenants', key)));
    const first = await claim(storage, 'tenants');
    expect(first).toHaveLength(300);
    await complete(storage, first);
    offsetMs += 2 * 60_000;
    await storage.enqueue([limited('tenants', 'tenant 0')]);
    await (await open()).tidy({ settled: 0, idle: false });
    expect(await count('lanes')).toBe(1);
    expect(await count('lines')).toBe(300);
    const second = await claim(storage, 'tenants');
    expect(second.map(({ limit }) => limit?.key)).toEqual(['tenant 0']);

    offsetMs += day;
    await storage.purge({ statuses: ['completed'], olderThanMs: 0, limit: 1_000 });
    await storage.purgeTraces({ olderThanMs: 0, limit: 1_000 });
    expect(await count('lines')).toBe(1);
    expect(await count('members')).toBe(1);
    // Of the key and of the group.
    expect(await count('gates')).toBe(2);

    // This process still knows the numbers of lines that are gone.
    await storage.enqueue([limited('tenants', 'tenant 1'), limited('tenants', 'tenant 0')]);
    const third = await claim(storage, 'tenants');
    expect(third.map(({ limit }) => limit?.key)).toEqual(['tenant 1']);
    await complete(storage, [...second, ...third]);
    const fourth = await claim(storage, 'tenants');
    expect(fourth.map(({ limit }) => limit?.key)).toEqual(['tenant 0']);
    await complete(storage, fourth);
    expect(await count('slots')).toBe(0);
  });

  test('no job is lost while lanes and lines are removed beside those who write to them', async () => {
    const [writer, sweeper] = await Promise.all([open(), open()]);
    const ids = new Set<string>();
    let isOver = false;
    const sweeping = (async () => {
      while (!isOver) {
        offsetMs += day + 60_000;
        await (await open()).tidy({ settled: 0, idle: false });
        await sweeper.purge({ statuses: ['completed'], olderThanMs: 0, limit: 1_000 });
        await sweeper.purgeTraces({ olderThanMs: 0, limit: 1_000 });
      }
    })();
    const done = new Set<string>();
    for (let round = 0; round < 40; round += 1) {
      const jobs = Array.from({ length: 10 }, (_, index) => limited('swept', `key ${(round + index) % 15}`));
      for (const { id } of jobs) ids.add(id);
      await writer.enqueue(jobs);
      const claimed = await claim(writer, 'swept');
      await complete(writer, claimed);
      for (const { id } of claimed) done.add(id);
    }
    isOver = true;
    await sweeping;
    for (let claims = 0; done.size < ids.size && claims < 400; claims += 1) {
      const claimed = await claim(writer, 'swept');
      await complete(writer, claimed);
      for (const { id } of claimed) done.add(id);
    }
    expect(done).toEqual(ids);
  });

  test('a thread that renews, beats and tidies needs one connection', async () => {
    const storage = await open();
    await storage.renew('ab'.repeat(8), 45_000);
    await storage.tidy({ settled: 0, idle: true });
    await storage.purgeTraces({ olderThanMs: day, limit: 10 });
    await storage.takeDuty('clean', 'me', 1_000);
    const [mine] = await admin.query<(RowDataPacket & { id: number })[]>(
      'select id from information_schema.processlist where db = database() and id <> connection_id()',
    );
    await storage.close();
    const [left] = await admin.query<(RowDataPacket & { id: number })[]>(
      'select id from information_schema.processlist where db = database() and id <> connection_id()',
    );
    expect(mine.length - left.length).toBeLessThanOrEqual(1);
  });
});
