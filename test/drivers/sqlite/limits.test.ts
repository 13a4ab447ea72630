import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { ClaimedJob } from '../../../src/storage/claimed-job.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import { SqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { peekAt } from '../../support/claim-request.js';
import { tempDir } from '../../support/temp.js';
import { claimRequest, completed, newJob, newJobs } from './jobs.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

async function opened(file: string, clock = { offsetMs: () => 0 }): Promise<SqliteStorage & AsyncDisposable> {
  const storage = new SqliteStorage({ file, synchronous: 'NORMAL', clock });
  await storage.open();
  return Object.assign(storage, { [Symbol.asyncDispose]: () => storage.close() });
}

const limited = (key: string | null, max: number | null = 1, group = 'g'): Partial<NewJob> => ({
  limit: { group, key, max },
});

const ids = (jobs: readonly { id: string }[]): string[] => jobs.map(({ id }) => id);

describe('[sqlite] limits', () => {
  test('more keys than are remembered all have their turn', async () => {
    await using folder = tempDir('limits');
    await using storage = await opened(folder.file('queue.db'));
    const jobs = Array.from({ length: 3_500 }, (_, index) => newJob(limited(`key-${index}`)));
    for (let at = 0; at < jobs.length; at += 500) await storage.enqueue(jobs.slice(at, at + 500));
    const claimed: ClaimedJob[] = [];
    for (;;) {
      const some = await storage.claim(claimRequest({ limit: 900 }));
      if (some.length === 0) break;
      claimed.push(...some);
    }
    expect(new Set(ids(claimed)).size).toBe(3_500);
    await storage.settle(completed(claimed.slice(0, 1_000)));
  });

  test('one key that may run is found behind thousands that may not', async () => {
    await using folder = tempDir('limits');
    await using storage = await opened(folder.file('queue.db'));
    const keys = Array.from({ length: 1_500 }, (_, index) => `key-${index}`);
    for (let at = 0; at < keys.length; at += 500) {
      const part = keys.slice(at, at + 500);
      await storage.enqueue(part.flatMap((key) => newJobs(2, limited(key))));
      expect(await storage.claim(claimRequest({ limit: 1_000 }))).toHaveLength(500);
    }
    expect(await storage.claim(claimRequest())).toEqual([]);
    const free = newJob({ ...limited('the last one'), priority: -10 });
    await storage.enqueue([free]);
    expect(ids(await storage.claim(claimRequest()))).toEqual([free.id]);
  });

  test('what another process adds to many lines is found when nothing else may run', async () => {
    await using folder = tempDir('limits');
    await using storage = await opened(folder.file('queue.db'));
    await using other = await opened(folder.file('queue.db'));
    for (let at = 0; at < 200; at += 1) await storage.enqueue(newJobs(2, limited(`key-${at}`)));
    expect(await storage.claim(claimRequest({ limit: 1_000 }))).toHaveLength(200);
    const added = newJob(limited('other'));
    await other.enqueue([added]);
    expect(ids(await storage.claim(claimRequest()))).toEqual([added.id]);
  });

  test('a line is forgotten a day after its last job has gone, and made anew', async () => {
    await using folder = tempDir('limits');
    const file = folder.file('queue.db');
    let offset = 0;
    await using storage = await opened(file, { offsetMs: () => offset });
    const counts = (): number[] => {
      const db = new Database(file, { readonly: true });
      const count = (table: string) => db.prepare(`select count(*) from ${table}`).pluck().get() as number;
      const all = [count('lines'), count('gates')];
      db.close();
      return all;
    };
    const purge = () => storage.purgeTraces({ olderThanMs: dayMs, limit: 1_000 });
    const gone = newJob(limited('gone', 1));
    const kept = newJob(limited('kept', 1));
    const other = newJob({ ...limited('gone', 2), cost: 3, requires: ['gpu'] });
    await storage.enqueue([gone, kept, other]);
    expect(counts()).toEqual([3, 2]);
    await storage.delete(gone.id);
    await storage.cancel(kept.id);
    offset += dayMs - hourMs;
    await purge();
    expect(counts()).toEqual([3, 2]);
    offset += 2 * hourMs;
    await purge();
    // A job that is kept can be retried, so it keeps its line.
    expect(counts()).toEqual([2, 2]);
    await storage.delete(other.id);
    offset += dayMs + hourMs;
    await purge();
    expect(counts()).toEqual([1, 1]);
    expect(await storage.retry(kept.id)).toBe('done');
    const again = newJob(limited('gone', 1));
    await storage.enqueue([again]);
    expect(counts()).toEqual([2, 2]);
    const claimed = await storage.claim(claimRequest());
    expect(claimed.map(({ id, limit }) => [id, limit?.key])).toEqual([
      [kept.id, 'kept'],
      [again.id, 'gone'],
    ]);
  });

  test('a line that is still named is not forgotten under a dispatcher that remembers it', async () => {
    await using folder = tempDir('limits');
    const file = folder.file('queue.db');
    let offset = 0;
    const clock = { offsetMs: () => offset };
    await using storage = await opened(file, clock);
    await using other = await opened(file, clock);
    for (let hour = 0; hour < 60; hour += 1) {
      const job = newJob(limited('tenant'));
      await storage.enqueue([job]);
      const [claimed] = await other.claim(claimRequest());
      expect(claimed).toMatchObject({ id: job.id, limit: { group: 'g', key: 'tenant', max: 1 } });
      await other.delete(job.id);
      await other.settle([{ id: job.id, token: claimed?.token ?? '', kind: 'cancelled', reason: null }]);
      offset += hourMs * 0.9;
      await other.purgeTraces({ olderThanMs: dayMs, limit: 1_000 });
    }
  });

  test('a rollback takes back the numbers that it gave', async () => {
    await using folder = tempDir('limits');
    await using storage = await opened(folder.file('queue.db'));
    const broken = newJob({ ...limited('one'), maxAttempts: Number.NaN });
    await expect(storage.enqueue([broken])).rejects.toThrow();
    const [a, b] = [newJob(limited('two')), newJob(limited('one', 5))];
    await storage.enqueue([a, b]);
    expect((await storage.job(a.id))?.limit).toEqual({ group: 'g', key: 'two', max: 1 });
    expect((await storage.job(b.id))?.limit).toEqual({ group: 'g', key: 'one', max: 5 });
  });

  test('a transaction of the user dispatches into lines', async () => {
    await using folder = tempDir('limits');
    const file = folder.file('queue.db');
    await using storage = await opened(file);
    const db = new Database(file);
    const [a, b, undone] = [
      newJob(limited('a')),
      newJob({ cost: 4, requires: ['gpu'] }),
      newJob(limited('c')),
    ];
    db.exec('begin immediate');
    storage.withinSync(db).enqueue([a, b]);
    db.exec('commit; begin immediate');
    storage.withinSync(db).enqueue([undone]);
    db.exec('rollback');
    db.close();
    expect((await storage.job(b.id))?.requires).toEqual(['gpu']);
    expect(ids(await storage.claim(claimRequest({ labels: ['gpu'] })))).toEqual([a.id, b.id]);
  });

  test('a claim and a look at it cost no more behind what waits in lines', async () => {
    await using folder = tempDir('limits');
    await using storage = await opened(folder.file('queue.db'));
    for (let round = 0; round < 20; round += 1)
      await storage.enqueue(newJobs(1_000, { ...limited('full'), priority: 10 }));
    expect(await storage.claim(claimRequest({ limit: 5 }))).toHaveLength(1);
    const jobs = newJobs(50);
    await storage.enqueue(jobs);
    expect(await storage.peek(peekAt(['default'], ['work']))).toMatchObject({ dueInMs: 0 });
    const claimed = await storage.claim(claimRequest({ limit: 100, start: 3 }));
    expect(ids(claimed)).toEqual(ids(jobs));
    expect(claimed.filter(({ started }) => started)).toHaveLength(3);
    expect(await storage.peek(peekAt(['default'], ['work']))).toEqual({ dueInMs: null, aloneDue: false });
  });
});
