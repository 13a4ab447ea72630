import { expect, test } from 'vitest';
import { SqliteStorage } from '../../../src/storage/sqlite/storage.js';
import { peekAt } from '../../support/claim-request.js';
import { tempDir } from '../../support/temp.js';
import { claimRequest, completed, newJob } from './jobs.js';

async function opened(file: string): Promise<SqliteStorage & AsyncDisposable> {
  const storage = new SqliteStorage({ file, synchronous: 'NORMAL' });
  await storage.open();
  return Object.assign(storage, { [Symbol.asyncDispose]: () => storage.close() });
}

test('[sqlite] far more names than a worker knows wait in its queue: it gets its own, in order', async () => {
  await using folder = tempDir('kinds');
  await using storage = await opened(folder.file('queue.db'));
  const others = Array.from({ length: 40 }, (_, index) => newJob({ name: `other-${index}`, priority: 50 }));
  const mine = [
    newJob({ name: 'a' }),
    newJob({ name: 'b', priority: 1 }),
    newJob({ name: 'a', priority: 2 }),
  ];
  await storage.enqueue([...others, ...mine]);
  const request = { names: ['a', 'b', 'never seen'], limit: 2, start: 1 };
  expect(await storage.peek(peekAt(['default'], request.names))).toEqual({ dueInMs: 0, aloneDue: false });
  const first = await storage.claim(claimRequest(request));
  expect(first.map(({ id, started }) => [id, started])).toEqual([
    [mine[2]?.id, true],
    [mine[1]?.id, false],
  ]);
  const second = await storage.claim(claimRequest(request));
  expect(second.map(({ id }) => id)).toEqual([mine[0]?.id]);
  await storage.settle(completed([...first, ...second]));
  expect(await storage.claim(claimRequest(request))).toEqual([]);
  expect(await storage.peek(peekAt(['default'], request.names))).toEqual({ dueInMs: null, aloneDue: false });
});

test('[sqlite] names that another storage has added since are known at once', async () => {
  await using folder = tempDir('kinds');
  await using storage = await opened(folder.file('queue.db'));
  await using other = await opened(folder.file('queue.db'));
  expect(await storage.claim(claimRequest({ names: ['late'] }))).toEqual([]);
  for (let index = 0; index < 30; index += 1) await other.enqueue([newJob({ name: `other-${index}` })]);
  const late = newJob({ name: 'late', queue: 'new' });
  await other.enqueue([late, newJob({ name: 'late' })]);
  const request = claimRequest({ names: ['late'], queues: ['new', 'default'] });
  expect((await storage.claim(request)).map(({ queue }) => queue)).toEqual(['new', 'default']);
  expect((await storage.jobs({ queue: 'new' }, { limit: 10 })).jobs.map(({ id }) => id)).toEqual([late.id]);
});
