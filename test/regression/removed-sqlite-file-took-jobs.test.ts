import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import { Hub } from '../../src/hub/index.js';
import { createLineLogger } from '../../src/internal/logger.js';
import { type TempDir, tempDir } from '../support/temp.js';
import { waitFor } from '../support/wait-for.js';

const count = defineJob('count', { run: () => 1 });

/** What the file, its -wal and its -shm are called, and what is done to them. */
const losses: Readonly<Record<string, (file: string, dir: TempDir) => Promise<void> | void>> = {
  'the file removed': (file) => unlinkSync(file),
  'all three removed': (file) => {
    for (const end of ['', '-wal', '-shm']) unlinkSync(`${file}${end}`);
  },
  'its -wal removed': (file) => unlinkSync(`${file}-wal`),
  'its -shm removed': (file) => unlinkSync(`${file}-shm`),
  'its folder removed': (_, dir) => rmSync(dir.file('data'), { recursive: true }),
  async 'another put in its place'(file, dir) {
    await using other = new Millrace({ database: `sqlite:${dir.file('other.db')}`, jobs: [count] });
    await other.dispatch(count, {});
    await other.close();
    renameSync(dir.file('other.db'), file);
  },
};

/** A process went on writing into a file that nobody could read any more, and answered that the jobs were kept. */
describe('[sqlite] a file that is lost while it is open', () => {
  test.each(Object.entries(losses))('%s: no job is taken, and no file is made', async (_, lose) => {
    await using dir = tempDir('gone');
    mkdirSync(dir.file('data'));
    const file = dir.file('data', 'queue.db');
    await using millrace = new Millrace({
      database: `sqlite:${file}`,
      jobs: [count],
      dispatchTimeout: '500ms',
    });
    const kept = await millrace.dispatch(count, {});
    await lose(file, dir);
    const wasThere = existsSync(file);
    const read = await waitFor(() => millrace.job(kept.id).then(never, (error: unknown) => error), {
      describe: () => 'the loss is noticed by a read',
    });
    expect(read).toMatchObject({ code: 'database-gone', message: expect.stringContaining(file) as unknown });
    // Repeated until their deadline, in which the file may be put back.
    const late = { code: 'deadline-exceeded', cause: { code: 'database-gone' } };
    await expect(millrace.dispatch(count, {})).rejects.toMatchObject(late);
    await expect(millrace.dispatchMany([{ job: count, input: {} }])).rejects.toMatchObject(late);
    expect(existsSync(file)).toBe(wasThere);
  });

  test('a link that is turned to another file is another file', async () => {
    await using dir = tempDir('gone');
    const link = dir.file('queue.db');
    for (const name of ['a.db', 'b.db']) {
      await using made = new Millrace({ database: `sqlite:${dir.file(name)}`, jobs: [count] });
      await made.dispatch(count, {});
    }
    symlinkSync(dir.file('a.db'), link);
    await using millrace = new Millrace({
      database: `sqlite:${link}`,
      jobs: [count],
      dispatchTimeout: '500ms',
    });
    await millrace.dispatch(count, {});
    unlinkSync(link);
    symlinkSync(dir.file('b.db'), link);
    await expect(noticed(millrace)).resolves.toMatchObject({ cause: { code: 'database-gone' } });
  });

  test('a worker waits, and goes on where the file was put back', async () => {
    await using dir = tempDir('gone');
    const file = dir.file('queue.db');
    const lines: string[] = [];
    const logger = createLineLogger({ write: (line) => lines.push(line) });
    await using millrace = new Millrace({
      ...{ database: `sqlite:${file}`, jobs: [count], logger },
      ...{ workerSleep: '50ms', dispatchTimeout: '500ms' },
    });
    await using worker = millrace.worker();
    await worker.start();
    const away = dir.file('away.db');
    renameSync(file, away);
    await expect(noticed(millrace)).resolves.toMatchObject({ cause: { code: 'database-gone' } });
    await waitFor(() => lines.some((line) => line.includes('link: lost') && line.includes('removed')), {
      describe: () => lines.join('\n'),
    });
    renameSync(away, file);
    const handle = await dispatched(millrace);
    expect(await handle.result({ timeout: '20s' })).toBe(1);
    expect(worker.state).toBe('running');
  });

  test('a hub is not ready, and takes no job', async () => {
    await using dir = tempDir('gone');
    const file = dir.file('queue.db');
    await using millrace = new Millrace({
      database: `sqlite:${file}`,
      jobs: [count],
      dispatchTimeout: '500ms',
    });
    await using hub = new Hub({ client: millrace, port: 0 });
    await hub.start();
    const ready = async (): Promise<number> => (await fetch(`${hub.url}/readyz`)).status;
    expect(await ready()).toBe(200);
    unlinkSync(file);
    await waitFor(async () => (await ready()) === 503, { describe: () => 'the hub is not ready' });
    const answer = await fetch(`${hub.url}/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'count', payload: {} }),
    });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await answer.json()).toMatchObject({ retryable: true });
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
    expect(existsSync(file)).toBe(false);
  });
});

const never = (): undefined => undefined;

/** What a dispatch says once it is refused; one right before the loss may still be taken. */
function noticed(millrace: Millrace): Promise<unknown> {
  return waitFor(() => millrace.dispatch(count, {}).then(never, (error: unknown) => error), {
    describe: () => 'the loss is noticed by a dispatch',
  });
}

function dispatched(
  millrace: Millrace,
): Promise<Awaited<ReturnType<typeof millrace.dispatch<typeof count>>>> {
  return waitFor(() => millrace.dispatch(count, {}).catch(never), {
    describe: () => 'a dispatch is taken again',
  });
}
