import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { hasErrorCode } from '../../../src/internal/errors.js';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { Session } from '../../../src/storage/sqlite/session.js';
import { SqliteStorage, type SqliteStorageOptions } from '../../../src/storage/sqlite/storage.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';
import { commitsIn } from './commits.js';
import { claimRequest, completed, newJob, newJobs } from './jobs.js';

interface OpenStorage extends AsyncDisposable {
  readonly file: string;
  readonly storage: SqliteStorage;
  /** Commits since the last call. */
  commits(): number;
}

async function open(options: Partial<SqliteStorageOptions> = {}): Promise<OpenStorage> {
  const folder = tempDir('writer');
  const file = folder.file('queue.db');
  const storage = new SqliteStorage({ file, synchronous: 'NORMAL', ...options });
  await storage.open();
  // Numbers for the queue and name are given now, in a transaction that is not counted.
  await storage.enqueue([newJob()]);
  let before = commitsIn(`${file}-wal`);
  return {
    file,
    storage,
    commits() {
      const now = commitsIn(`${file}-wal`);
      const since = now - before;
      before = now;
      return since;
    },
    async [Symbol.asyncDispose]() {
      await storage.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Another connection, as another process would have it, that holds the write lock until told otherwise. */
function holdLock(file: string): { release(): void } {
  const db = new Database(file);
  db.exec('begin immediate');
  return {
    release() {
      db.exec('rollback');
      db.close();
    },
  };
}

describe('[sqlite] group commit', () => {
  test('a lone call is committed by itself', async () => {
    await using opened = await open();
    for (let call = 0; call < 5; call += 1) await opened.storage.enqueue([newJob()]);
    expect(opened.commits()).toBe(5);
  });

  test('calls that come together share a commit', async () => {
    await using opened = await open();
    await Promise.all(Array.from({ length: 50 }, () => opened.storage.enqueue([newJob()])));
    // The first goes at once, since nobody knows yet that others follow.
    expect(opened.commits()).toBeLessThanOrEqual(2);
  });

  test('callers in a loop cost one commit a round', async () => {
    await using opened = await open();
    const rounds = 20;
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let round = 0; round < rounds; round += 1) await opened.storage.enqueue([newJob()]);
      }),
    );
    expect(opened.commits()).toBeLessThanOrEqual(rounds + 2);
  });

  test('different kinds of calls share a commit too', async () => {
    await using opened = await open();
    const claimed = await opened.storage.claim(claimRequest());
    opened.commits();
    await Promise.all([
      opened.storage.enqueue([newJob()]),
      opened.storage.settle(completed(claimed)),
      opened.storage.enqueue([newJob()]),
      opened.storage.renew('0'.repeat(16), 1_000),
    ]);
    expect(opened.commits()).toBeLessThanOrEqual(2);
  });

  test('a transaction holds at most 1,000 rows', async () => {
    await using opened = await open();
    await Promise.all(Array.from({ length: 6 }, () => opened.storage.enqueue(newJobs(500))));
    // Two by two at best.
    expect(opened.commits()).toBeGreaterThanOrEqual(3);
  });

  test('a call that fails takes no other with it', async () => {
    await using opened = await open();
    const bad = newJob({ id: 'not-an-id' });
    const calls = [[newJob()], [newJob()], [bad], [newJob()]].map((jobs) => opened.storage.enqueue(jobs));
    const answers = await Promise.allSettled(calls);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((await opened.storage.stats('default'))[0]?.pending).toBe(4);
  });

  test('what a failed call had begun is undone, numbers of new names included', async () => {
    await using opened = await open();
    const failing = opened.storage.enqueue([newJob({ name: 'new', queue: 'fresh' }), newJob({ id: 'bad' })]);
    await expect(failing).rejects.toMatchObject({ code: 'option-invalid' });
    expect(await opened.storage.stats('fresh')).toMatchObject([{ pending: 0 }]);
    await opened.storage.enqueue([newJob({ name: 'new', queue: 'fresh' })]);
    const claimed = await opened.storage.claim(claimRequest({ queues: ['fresh'], names: ['new'] }));
    expect(claimed.map(({ name, queue }) => [name, queue])).toEqual([['new', 'fresh']]);
  });

  test('a caller that awaits call after call does not starve timers', async () => {
    await using opened = await open();
    let fired = false;
    const timer = setTimeout(() => {
      fired = true;
    }, 1);
    let calls = 0;
    for (; !fired && calls < 5_000; calls += 1) await opened.storage.enqueue([newJob()]);
    clearTimeout(timer);
    expect(fired).toBe(true);
  });
});

describe('[sqlite] a file that another connection holds', () => {
  test('a write waits without stopping the event loop, and is done once the lock is free', async () => {
    await using opened = await open();
    const held = holdLock(opened.file);
    const writing = opened.storage.enqueue([newJob()]);
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 1);
    await waitFor(() => turns >= 20, { describe: 'the event loop to go on while the file is held' });
    held.release();
    await expect(writing).resolves.toMatchObject([{ outcome: 'created' }]);
    clearInterval(ticking);
  });

  test('reads go on meanwhile', async () => {
    await using opened = await open();
    const held = holdLock(opened.file);
    expect((await opened.storage.stats('default'))[0]?.pending).toBe(1);
    held.release();
  });

  test('after the deadline each call is refused, and nothing was changed', async () => {
    await using opened = await open({ statementTimeoutMs: 60 });
    const held = holdLock(opened.file);
    const calls = [opened.storage.enqueue([newJob()]), opened.storage.setPaused('default', true)];
    const answers = await Promise.allSettled(calls);
    for (const answer of answers) {
      expect(answer.status === 'rejected' && hasErrorCode(answer.reason, 'database-locked')).toBe(true);
    }
    held.release();
    expect(await opened.storage.stats('default')).toMatchObject([{ pending: 1, paused: false }]);
    await expect(opened.storage.enqueue([newJob()])).resolves.toHaveLength(1);
  });

  test('what was gathered while it was held goes in one commit', async () => {
    await using opened = await open();
    const held = holdLock(opened.file);
    const calls = Array.from({ length: 20 }, () => opened.storage.enqueue([newJob()]));
    held.release();
    await Promise.all(calls);
    expect(opened.commits()).toBe(1);
  });

  test('an idle worker looks for jobs without asking for the lock', async () => {
    await using opened = await open({ statementTimeoutMs: 100 });
    await opened.storage.claim(claimRequest());
    expect(await opened.storage.claim(claimRequest())).toEqual([]);
    const held = holdLock(opened.file);
    expect(await opened.storage.claim(claimRequest())).toEqual([]);
    expect(await opened.storage.exchange([], claimRequest())).toEqual({ settled: [], claimed: [] });
    held.release();
    await opened.storage.enqueue([newJob()]);
    expect(await opened.storage.claim(claimRequest())).toHaveLength(1);
  });

  test('close does not wait for it, and says so to who was waiting', async () => {
    const opened = await open();
    const held = holdLock(opened.file);
    const writing = opened.storage.enqueue([newJob()]);
    const answer = expect(writing).rejects.toMatchObject({ code: 'closed' });
    await opened.storage.close();
    await answer;
    held.release();
    await opened[Symbol.asyncDispose]();
  });
});

describe('[sqlite] a full disk', () => {
  test('is answered with database-full, loses nothing, and passes', async () => {
    await using folder = tempDir('full');
    const session = await Session.open({
      file: folder.file('queue.db'),
      mustExist: false,
      synchronous: 'FULL',
    });
    const insert = (id: string) =>
      session.write('fill', 1, (tx) => {
        tx.db.run('insert into queues (name) values (?)', id + 'x'.repeat(5_000));
      });
    await insert('first');
    // The same answer of SQLite as for a disk without room, at a size that a test can reach.
    session.db.execute(`pragma max_page_count = ${session.db.value<number>('pragma page_count') ?? 0}`);
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => insert(uuidv7())));
    for (const outcome of outcomes) {
      expect(outcome.status === 'rejected' && hasErrorCode(outcome.reason, 'database-full')).toBe(true);
      expect(outcome.status === 'rejected' && (outcome.reason as { retryable: boolean }).retryable).toBe(
        true,
      );
    }
    expect(session.db.value('select count(*) from queues')).toBe(1);
    session.db.execute('pragma max_page_count = 1000000');
    await insert('second');
    expect(session.db.value('select count(*) from queues')).toBe(2);
    session.close();
  });
});
