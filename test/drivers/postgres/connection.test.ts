import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isMillraceError } from '../../../src/internal/errors.js';
import { PostgresStorage } from '../../../src/storage/postgres/storage.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';
import { claimRequest, newJob, withClient } from './fixture.js';

const codeOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (isMillraceError(error) ? error.code : String(error)),
  );

describe.skipIf(!serverAvailable('postgres'))('[postgres] connection', () => {
  let database: TestDatabase;
  const opened: PostgresStorage[] = [];

  const open = async (url: string, statementTimeoutMs = 10_000): Promise<PostgresStorage> => {
    const storage = new PostgresStorage({ url, migrate: 'auto', statementTimeoutMs });
    opened.push(storage);
    await storage.open();
    return storage;
  };
  beforeEach(async () => {
    database = await testDatabase('postgres');
  });
  afterEach(async () => {
    for (const storage of opened.splice(0)) await storage.close();
    await database[Symbol.asyncDispose]();
  });

  test('a statement that misses its deadline says so, and the next call goes on with a new connection', async () => {
    const storage = await open(database.url, 300);
    await withClient(database.url, async (client) => {
      await client.query('begin; lock table millrace.paused in access exclusive mode');
      expect(await codeOf(storage.pausedQueues())).toBe('deadline-exceeded');
      await client.query('commit');
    });
    expect(await storage.pausedQueues()).toEqual([]);
  });

  test('what waits behind a statement that misses its deadline is not lost with it', async () => {
    const storage = await open(database.url, 500);
    await withClient(database.url, async (client) => {
      await client.query('begin; lock table millrace.duties in access exclusive mode');
      const late = codeOf(storage.takeDuty('sweep', 'a', 1_000));
      const behind = storage.pausedQueues();
      expect(await late).toBe('deadline-exceeded');
      expect(await behind).toEqual([]);
      await client.query('commit');
    });
  });

  test('killed connections are reopened by the next calls, and nothing that was answered is lost', async () => {
    const storage = await open(database.url);
    const kept: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const job = newJob();
      await waitFor(() => storage.enqueue([job]), { describe: 'a job to be written' });
      kept.push(job.id);
      await withClient(database.url, (client) =>
        client.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'millrace'",
        ),
      );
    }
    const claimed = await waitFor(() => storage.claim(claimRequest()), { describe: 'a claim' });
    expect(claimed.map((job) => job.id)).toEqual(kept);
  });

  test('a connection that is dead without saying so costs one deadline', async () => {
    await using proxy = await tcpProxy(database.url);
    const storage = await open(proxy.url, 400);
    proxy.freeze();
    expect(await codeOf(storage.enqueue([newJob()]))).toBe('deadline-exceeded');
    proxy.thaw();
    expect(await storage.enqueue([newJob()])).toMatchObject([{ outcome: 'created' }]);
  });

  test('a job whose answer was lost is recognised when it is sent again', async () => {
    await using proxy = await tcpProxy(database.url);
    const storage = await open(proxy.url);
    const job = newJob();
    await storage.enqueue([newJob()]);
    await withClient(database.url, async (client) => {
      await client.query('begin; lock table millrace.jobs in exclusive mode');
      const first = codeOf(storage.enqueue([job]));
      await waitFor(
        async () =>
          (
            await client.query(
              "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            )
          ).rowCount,
        { describe: 'the insert to wait for the lock' },
      );
      proxy.cut();
      expect(await first).toBe('connection-lost');
      await client.query('commit');
    });
    await waitFor(async () => (await storage.job(job.id)) !== null, {
      describe: 'the first try to be committed',
    });
    expect(await storage.enqueue([job])).toEqual([{ outcome: 'replayed', id: job.id }]);
  });

  test('close ends in time over a dead connection', async () => {
    await using proxy = await tcpProxy(database.url);
    const storage = await open(proxy.url, 20_000);
    await using _watch = await storage.watch(() => undefined);
    proxy.freeze();
    const waiting = codeOf(storage.now());
    const startedAt = performance.now();
    await storage.close();
    expect(performance.now() - startedAt).toBeLessThan(6_000);
    expect(await waiting).toBe('connection-lost');
    expect(await codeOf(storage.now())).toBe('closed');
  });

  test('serialization failures are tried again inside', async () => {
    const storage = await open(database.url);
    await withClient(database.url, (client) =>
      client.query(`create sequence tries;
        create function fail() returns trigger language plpgsql as $$ begin
          if nextval('tries') % 3 <> 0 then raise exception 'try again' using errcode = '40001'; end if;
          return new; end $$;
        create trigger fail before insert on millrace.paused for each row execute function fail();
        create trigger fail before insert on millrace.dependencies for each row execute function fail()`),
    );
    await storage.setPaused('a', true);
    expect(await storage.pausedQueues()).toEqual(['a']);
    const [parent, child] = [newJob(), newJob()];
    const after = { ids: [parent.id], onFailure: 'bury' } as const;
    expect(await storage.enqueue([parent, { ...child, after }])).toMatchObject([
      { outcome: 'created' },
      { outcome: 'created' },
    ]);
  });

  test('of many dispatches that share a statement, one that the server refuses fails alone', async () => {
    const storage = await open(database.url);
    const jobs = Array.from({ length: 50 }, (_, index) =>
      newJob({ payload: index === 20 ? '"\u0000"' : '1' }),
    );
    const codes = await Promise.all(jobs.map((job) => codeOf(storage.enqueue([job]))));
    expect(codes.filter((code) => code !== 'done')).toEqual(['query-failed']);
    expect(codes[20]).toBe('query-failed');
    expect(await storage.claim(claimRequest())).toHaveLength(49);
  });

  test('of one batch, a job that the server refuses keeps none of the others from being written', async () => {
    const storage = await open(database.url);
    const jobs = [newJob(), newJob({ payload: '"\u0000"' }), newJob()];
    expect(await codeOf(storage.enqueue(jobs))).toBe('query-failed');
    expect((await storage.claim(claimRequest())).map((job) => job.id)).toEqual([jobs[0]?.id, jobs[2]?.id]);
  });

  test('a payload with a separator of the wire format is refused before it is written', async () => {
    const storage = await open(database.url);
    expect(await codeOf(storage.enqueue([newJob({ payload: '"\u001f"' })]))).toBe('json-invalid');
  });

  test('more payload than fits one value is fetched in parts', async () => {
    const storage = await open(database.url);
    const payload = JSON.stringify('x'.repeat(1_000_000));
    const jobs = Array.from({ length: 40 }, () => newJob({ payload }));
    await storage.enqueue(jobs);
    const claimed = await storage.claim(claimRequest());
    expect(claimed.map((job) => job.id)).toEqual(jobs.map((job) => job.id));
    expect(claimed.every((job) => job.payload === payload)).toBe(true);
  });

  test('an address that leads nowhere is told apart from a database that is not there', async () => {
    const nowhere = new URL(database.url);
    nowhere.port = '1';
    expect(await codeOf(open(nowhere.href))).toBe('database-unreachable');
    const missing = new URL(database.url);
    missing.pathname = '/millrace_no_such_database';
    expect(await codeOf(open(missing.href))).toBe('database-not-found');
  });

  test('without prepared statements nothing is kept in the session', async () => {
    const storage = new PostgresStorage({ url: database.url, migrate: 'auto', prepare: false });
    opened.push(storage);
    await storage.open();
    await storage.enqueue([newJob()]);
    const [job] = await storage.claim(claimRequest());
    expect(job).toBeDefined();
    const active = await withClient(database.url, (client) =>
      client.query(
        "select query from pg_stat_activity where datname = current_database() and application_name = 'millrace' and state <> 'idle'",
      ),
    );
    expect(active.rows).toEqual([]);
    expect(storage.capabilities.push).toBe(false);
  });

  test('a storage keeps two connections, and one more only while it tidies', async () => {
    const storage = await open(database.url);
    await using _watch = await storage.watch(() => undefined);
    await Promise.all(Array.from({ length: 100 }, () => storage.enqueue([newJob()])));
    await storage.claim(claimRequest());
    const count = (): Promise<number> =>
      withClient(database.url, async (client) => {
        const result = await client.query(
          "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'millrace'",
        );
        return result.rows[0].n as number;
      });
    expect(await count()).toBe(2);
    await storage.tidy({ settled: 0, idle: false });
    expect(await count()).toBe(3);
    await storage.tidy({ settled: 0, idle: true });
    await waitFor(async () => (await count()) === 2, { describe: 'the third connection to end' });
  });
});
