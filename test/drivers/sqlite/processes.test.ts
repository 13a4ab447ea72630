import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { type TempDir, tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';
import { newJob, newJobs } from './jobs.js';
import { StorageProcess } from './storage-process.js';

async function opened(file: string): Promise<SqliteStorage & AsyncDisposable> {
  const storage = new SqliteStorage({ file, synchronous: 'NORMAL' });
  await storage.open();
  return Object.assign(storage, { [Symbol.asyncDispose]: () => storage.close() });
}

describe('[sqlite] several processes on one file', () => {
  let folder: TempDir;
  let file: string;
  let normal: StorageProcess;
  let full: StorageProcess;

  beforeAll(async () => {
    folder = tempDir('processes');
    file = folder.file('queue.db');
    // At once, so that both find an empty file.
    [normal, full] = await Promise.all([
      StorageProcess.start(file, 'NORMAL'),
      StorageProcess.start(file, 'FULL'),
    ]);
  }, 60_000);

  afterAll(async () => {
    await normal[Symbol.asyncDispose]();
    await full[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test('that open an empty file at once migrate it once', async () => {
    const reports = [await normal.ask('migrate', {}), await full.ask('migrate', {})];
    expect(reports.filter(({ from }) => from === 0)).toHaveLength(1);
    expect(new Set(reports.map(({ to }) => to)).size).toBe(1);
  });

  test('drain a queue together, each job once', async () => {
    await using storage = await opened(file);
    for (let round = 0; round < 6; round += 1) await storage.enqueue(newJobs(1_000));
    const [one, two] = await Promise.all([
      normal.ask('drain', { limit: 50 }),
      full.ask('drain', { limit: 50 }),
    ]);
    expect(new Set([...one, ...two]).size).toBe(6_000);
    expect(one.length + two.length).toBe(6_000);
    expect(await storage.stats('default')).toMatchObject([{ pending: 0, processing: 0, completed: 6_000 }]);
  });

  test('never run more of a group together than its limit', async () => {
    await using storage = await opened(file);
    const jobs = newJobs(300, { queue: 'default', limit: { group: 'printers', key: null, max: 3 } });
    await storage.enqueue(jobs);
    let isDone = false;
    const drains = Promise.all([normal.ask('drain', { limit: 2 }), full.ask('drain', { limit: 5 })]);
    void drains.finally(() => {
      isDone = true;
    });
    let most = 0;
    while (!isDone) {
      const [state] = await storage.limits();
      most = Math.max(most, state?.running ?? 0);
      await nextTurn();
    }
    const [one, two] = await drains;
    expect(new Set([...one, ...two]).size).toBe(300);
    expect(one.length + two.length).toBe(300);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(3);
  });

  test.each(['NORMAL', 'FULL'] as const)(
    'every commit of another one under %s wakes who watches',
    async (mode) => {
      await using storage = await opened(file);
      let wakes = 0;
      await using _watch = await storage.watch(() => {
        wakes += 1;
      });
      for (let round = 0; round < 30; round += 1) {
        const before = wakes;
        await (mode === 'FULL' ? full : normal).ask('enqueue', { count: 1 });
        await waitFor(() => wakes > before, {
          describe: `wake-up ${round}`,
          deadlineMs: 2_000,
          intervalMs: 1,
        });
      }
    },
  );
});

describe('[sqlite] wake-ups', () => {
  test('our own writes are told with their queue, and not a second time as those of others', async () => {
    await using folder = tempDir('wake');
    await using storage = await opened(folder.file('queue.db'));
    await using other = await opened(folder.file('queue.db'));
    const own: (readonly string[] | null)[] = [];
    const others: (readonly string[] | null)[] = [];
    await using _own = await storage.watch((queues) => own.push(queues));
    await using _others = await other.watch((queues) => others.push(queues));
    await storage.enqueue([newJob({ queue: 'mail' })]);
    // Once the other one has heard of it, the report of the file has come to both.
    await waitFor(() => others.length > 0, { describe: 'the wake-up of the other storage' });
    expect(others).toEqual([null]);
    expect(own).toEqual([['mail']]);
  });

  test('others that come and go leave the watched file in its place', async () => {
    await using folder = tempDir('wake');
    const file = folder.file('queue.db');
    await using storage = await opened(file);
    let wakes = 0;
    await using _watch = await storage.watch(() => {
      wakes += 1;
    });
    const before = statSync(`${file}-wal`).ino;
    for (let round = 1; round <= 3; round += 1) {
      const other = new SqliteStorage({ file, synchronous: 'NORMAL' });
      await other.open();
      await other.enqueue([newJob()]);
      await other.tidy({ settled: 0, idle: true });
      await other.close();
      await waitFor(() => wakes >= round, { describe: `wake-up ${round}` });
    }
    expect(statSync(`${file}-wal`).ino).toBe(before);
  });

  test('a watch that was ended is not called, and leaves no file watched', async () => {
    await using folder = tempDir('wake');
    await using storage = await opened(folder.file('queue.db'));
    const watchers = (): number =>
      process.getActiveResourcesInfo().filter((name) => name.includes('FSEvent')).length;
    const before = watchers();
    let wakes = 0;
    const first = await storage.watch(() => {
      wakes += 1;
    });
    const second = await storage.watch(() => undefined);
    await first[Symbol.asyncDispose]();
    await storage.enqueue([newJob()]);
    expect(wakes).toBe(0);
    await second[Symbol.asyncDispose]();
    expect(watchers()).toBe(before);
    await storage.watch(() => undefined);
    await storage.close();
    expect(watchers()).toBe(before);
  });
});
