import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isMillraceError } from '../../../src/internal/errors.js';
import { PostgresStorage } from '../../../src/storage/postgres/storage.js';
import { killSessions } from '../../support/kill-sessions.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { claimRequest, newJob, withClient } from './fixture.js';

const claimers = 16;
const jobs = 150;
const deadlineMs = 100_000;

describe.skipIf(!serverAvailable('postgres'))('[postgres] limits', () => {
  let database: TestDatabase;
  let storage: PostgresStorage;
  beforeEach(async () => {
    database = await testDatabase('postgres');
    storage = new PostgresStorage({ url: database.url, migrate: 'auto' });
    await storage.open();
  });
  afterEach(async () => {
    await storage.close();
    await database[Symbol.asyncDispose]();
  });

  /** Once more, as it was, until the server answers: what a worker does. */
  const untilAnswered = async <T>(call: () => Promise<T>): Promise<T> => {
    const until = performance.now() + deadlineMs;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!isMillraceError(error) || !error.retryable || performance.now() > until) throw error;
        await pause(5);
      }
    }
  };

  test('sessions that are killed while they claim never make it more than its limit, and none is lost', {
    timeout: 120_000,
  }, async () => {
    const keys = ['a', 'b', 'c'];
    const limited = Array.from({ length: jobs }, (_, index) =>
      newJob({ limit: { group: 'g', key: keys[index % 3] ?? 'a', max: 3 } }),
    );
    await storage.enqueue(limited);
    const others = Array.from({ length: claimers }, () => new PostgresStorage({ url: database.url }));
    await Promise.all(others.map((other) => other.open()));
    await using killer = await killSessions('postgres', database.url);
    let ended = 0;
    const work = async (own: PostgresStorage): Promise<void> => {
      while (ended < jobs) {
        const request = claimRequest({ limit: 4, start: 4 });
        const claimed = await untilAnswered(() => own.claim(request));
        const settlements = claimed.map(({ id, token }) => ({
          id,
          token,
          kind: 'completed' as const,
          result: null,
        }));
        if (settlements.length === 0) await pause(2);
        const outcomes = await untilAnswered(() => own.settle(settlements));
        ended += outcomes.filter((outcome) => outcome === 'done').length;
      }
    };
    let most = 0;
    const watch = async (): Promise<void> => {
      while (ended < jobs) {
        const states = await untilAnswered(() => storage.limits());
        most = Math.max(most, ...states.map(({ running }) => running));
        if (ended < jobs * 0.8) await killer.killAll();
        await pause(10);
      }
    };
    try {
      await Promise.all([watch(), ...others.map(work)]);
    } finally {
      await Promise.all(others.map((other) => other.close()));
    }
    expect(most).toBeLessThanOrEqual(3);
    expect(ended).toBe(jobs);
    expect(await storage.limits()).toEqual([]);
  });

  test('jobs whose line has lost its row get one back', async () => {
    const job = newJob({ limit: { group: 'g', key: 'k', max: 1 }, requires: ['gpu'] });
    await storage.enqueue([job]);
    await withClient(database.url, (client) => client.query('delete from millrace.lines'));
    await withClient(database.url, (client) => client.query('delete from millrace.gates'));
    expect(await storage.claim(claimRequest({ labels: ['gpu'] }))).toEqual([]);
    await storage.tidy({ settled: 0, idle: true });
    const claimed = await storage.claim(claimRequest({ labels: ['gpu'] }));
    expect(claimed.map(({ id, limit, requires }) => ({ id, limit, requires }))).toEqual([
      { id: job.id, limit: { group: 'g', key: 'k', max: 1 }, requires: ['gpu'] },
    ]);
    expect(await storage.limits()).toMatchObject([{ group: 'g', key: 'k', running: 1, waiting: 0 }]);
  });

  test('two dispatchers that name the same thousand keys at once do not wait in a circle', async () => {
    const other = new PostgresStorage({ url: database.url });
    await other.open();
    const batch = (from: number, step: number): ReturnType<typeof newJob>[] =>
      Array.from({ length: 1_000 }, (_, index) =>
        newJob({ limit: { group: 'g', key: `k${from + step * index}`, max: 1 } }),
      );
    const answers = await Promise.all([storage.enqueue(batch(0, 1)), other.enqueue(batch(999, -1))]);
    expect(answers.flat().filter(({ outcome }) => outcome === 'created')).toHaveLength(2_000);
    expect(await storage.limits()).toHaveLength(1_000);
    expect((await storage.limits()).every(({ waiting }) => waiting === 2)).toBe(true);
    await other.close();
  });
});
