import { describe, expect, test } from 'vitest';
import type { ClaimedJob } from '../../../src/storage/claimed-job.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import { SqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { tempDir } from '../../support/temp.js';
import { claimRequest, completed, newJob, newJobs } from './jobs.js';

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
    const keys = Array.from({ length: 2_500 }, (_, index) => `key-${index}`);
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
});
