import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { createStorage } from '../../../src/storage/open-storage.js';
import type { Storage } from '../../../src/storage/storage.js';
import type { LinkListener, LinkSnapshot } from '../../../src/worker/link/link.js';
import { LinkThreadHost } from '../../../src/worker/link/link-thread-host.js';
import { threadFile } from '../../../src/worker/link/thread-keeper.js';
import { LEASE, Stage } from '../../conformance/stage.js';
import { emptyDatabase } from '../../support/engines.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';
import { workerReport } from '../../support/worker-report.js';

const incarnation = '00112233445566aa';

/** A thread that notes each start, and dies as often as it is told before it becomes the real one. */
async function dyingThread(
  folder: { file(name: string): string },
  deaths: number,
): Promise<{ file: string; starts(): number }> {
  const [file, log] = [folder.file('thread.mjs'), folder.file('starts')];
  await writeFile(log, '');
  await writeFile(
    file,
    `import { appendFileSync, readFileSync } from 'node:fs';
appendFileSync(${JSON.stringify(log)}, 'x');
const nth = readFileSync(${JSON.stringify(log)}, 'utf8').length;
if (nth <= ${deaths}) { if (nth % 2 === 0) process.exit(3); throw new Error('dies as it was told'); }
await import(${JSON.stringify(`file://${threadFile('link-thread.js')}`)});
`,
  );
  return { file, starts: () => readFileSync(log, 'utf8').length };
}

function host(
  file: string,
  parts: { storage: Storage; address: string },
  listener: Partial<LinkListener>,
): LinkThreadHost {
  const identity = {
    id: 'w-test',
    incarnation,
    host: 'here',
    pid: process.pid,
    version: '0',
    queues: ['default'],
    handlers: ['work'],
    labels: [],
    concurrency: 1,
    restarts: 0,
  };
  const settings = { leaseMs: LEASE, heartbeatMs: 200, controlMs: 100, ttlMs: 120_000 };
  const watch = { memory: new SharedArrayBuffer(4), owned: null };
  const files = { folder: '/nowhere', mostBytes: 1, mostBytesOfJob: 1 };
  const data = {
    ...{ databaseUrl: parts.address, storageOptions: {}, identity, settings, duties: null, files, watch },
  };
  const none = (): void => undefined;
  return new LinkThreadHost(file, parts.storage, data, {
    onRegistered: none,
    onSnapshot: none,
    onClockSkew: none,
    onAdminState: none,
    onRecycleAsked: none,
    onLog: none,
    ...listener,
  });
}

describe('[sqlite] a link thread that dies', () => {
  test('is started again until it lives, and then renews what its worker holds', async () => {
    await using database = await emptyDatabase('sqlite');
    await using folder = tempDir('thread');
    const storage = await createStorage(database.address);
    await storage.open();
    const stage = new Stage('sqlite', () => ({ storage, clock: { advance: () => undefined } }) as never);
    const id = await stage.add('default');
    await stage.claim('default', { token: stage.token(incarnation), leaseMs: 5_000 });
    const until = (await storage.job(id))?.leaseUntilMs ?? 0;
    const thread = await dyingThread(folder, 3);
    const snapshots: LinkSnapshot[] = [];
    const link = host(
      thread.file,
      { storage, ...database },
      { onSnapshot: (snapshot) => snapshots.push(snapshot) },
    );
    await link.start();
    await waitFor(() => snapshots.length > 2, { describe: 'the thread to look at what is held' });
    expect(thread.starts()).toBe(4);
    expect(snapshots.at(-1)?.held.map((lease) => lease.id)).toEqual([id]);
    expect((await storage.job(id))?.leaseUntilMs ?? 0).toBeGreaterThan(until + 30_000);
    await link.stop(2_000);
    const [worker] = await storage.workers();
    expect(worker).toMatchObject({ id: 'w-test', gone: true });
    await storage.close();
  });

  test('again and again keeps its worker from nothing, and is not started again once that stops', async () => {
    await using database = await emptyDatabase('sqlite');
    await using folder = tempDir('thread');
    const storage = await createStorage(database.address);
    await storage.open();
    const thread = await dyingThread(folder, 1_000);
    await storage.register(workerReport({ id: 'w-test', incarnation }), 0);
    const link = host(thread.file, { storage, ...database }, {});
    await link.start();
    await waitFor(() => thread.starts() > 2, { describe: 'the thread to be started again' });
    const startedAt = performance.now();
    await link.stop(1_000);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    const starts = thread.starts();
    const [worker] = await storage.workers();
    expect(worker).toMatchObject({ gone: true });
    await storage.close();
    expect(thread.starts()).toBe(starts);
  });
});
