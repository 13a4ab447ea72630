import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import type { FileContent, JobFiles, StoredFile } from '../../../src/client/job-files.js';
import { Millrace } from '../../../src/client/millrace.js';
import { isMillraceError } from '../../../src/internal/errors.js';
import { createTestKit } from '../../../src/testing/test-kit.js';
import { emptyDatabase } from '../../support/engines.js';
import { openHub } from '../../support/hub-stage.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const wait = { timeout: '30s' } as const;

async function bytesOf(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

async function* inParts(bytes: Uint8Array, partBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
}

type Work = (context: JobContext<unknown>) => Promise<unknown>;

/** A job that does what the test tells it. */
function workJob() {
  let work: Work = () => Promise.resolve(null);
  const job = defineJob('work', { attempts: 1, run: (context: JobContext<unknown>) => work(context) });
  return {
    job,
    will: (next: Work) => {
      work = next;
    },
  };
}

async function roundTrip(files: JobFiles) {
  const bytes = randomBytes(700_001);
  const given: [string, FileContent][] = [
    ['../shots/page.png', inParts(bytes, 10_000)],
    ['note', 'häh?'],
    ['empty.bin', new Uint8Array(0)],
  ];
  const put: StoredFile[] = [];
  for (const [name, content] of given) put.push(await files.put(name, content));
  await files.put('note', 'again');
  const { file, content } = await files.get('page.png');
  const byId = await files.get(put[0]?.id ?? '');
  return {
    put: put.map(({ name, type, sizeBytes }) => ({ name, type, sizeBytes })),
    isSame: hashOf(await bytesOf(content)) === hashOf(bytes) && file.sha256 === hashOf(bytes),
    isSameById: (await bytesOf(byId.content)).equals(bytes),
    note: (await bytesOf((await files.get('note')).content)).toString(),
    listed: (await files.list()).map(({ name }) => name),
    missing: await files.get('none').catch((error: unknown) => isMillraceError(error) && error.code),
  };
}

const tripped = {
  put: [
    { name: 'page.png', type: 'image/png', sizeBytes: 700_001 },
    { name: 'note', type: 'text/plain; charset=utf-8', sizeBytes: 5 },
    { name: 'empty.bin', type: 'application/octet-stream', sizeBytes: 0 },
  ],
  isSame: true,
  isSameById: true,
  note: 'again',
  listed: ['empty.bin', 'note', 'page.png'],
  missing: 'file-not-found',
};

async function stage(options: { maxFile?: number; maxJobFiles?: number } = {}) {
  const database = await emptyDatabase('sqlite');
  const dir = tempDir('files');
  const { job, will } = workJob();
  const client = new Millrace({
    ...{ database: database.address, jobs: [job], files: dir.path, workerSleep: '200ms', ...options },
  });
  const worker = client.worker();
  return {
    ...{ client, dir, job, will, database, worker },
    async run(next: Work) {
      will(next);
      await worker.start();
      const handle = await client.dispatch(job);
      return { id: handle.id, result: await handle.result(wait) };
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await dir[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

describe('files of a job', () => {
  test('on a storage link: streamed in and out, listed, replaced by name', async () => {
    await using here = await stage();
    const { result } = await here.run(({ files }) => roundTrip(files));
    expect(result).toEqual(tripped);
  });

  test('under runNow and in a test kit', async () => {
    const { job, will } = workJob();
    will(({ files }) => roundTrip(files));
    await using client = new Millrace({ database: 'memory:', jobs: [job] });
    expect(await client.runNow(job)).toEqual(tripped);
    await using kit = await createTestKit({ jobs: [job] });
    const handle = await kit.millrace.dispatch(job);
    await kit.runUntilIdle();
    expect(await handle.result()).toEqual(tripped);
  });

  test('what a failed attempt had put stays', async () => {
    await using here = await stage();
    let id = '';
    await expect(
      here.run(async ({ files, job }) => {
        id = job.id;
        await files.put('half.txt', 'kept');
        throw new Error('dies half-way');
      }),
    ).rejects.toMatchObject({ code: 'job-failed' });
    const keeper = here.client.internals.files;
    expect((await keeper.list(id)).map(({ name }) => name)).toEqual(['half.txt']);
  });

  test('a file or a job that is too large is told, with the setting to raise', async () => {
    await using here = await stage({ maxFile: 100_000, maxJobFiles: 150_000 });
    const { result } = await here.run(async ({ files }) => {
      const tried = (name: string, size: number) =>
        files.put(name, inParts(new Uint8Array(size), 7_000)).then(
          () => 'kept',
          (error: Error) => error.message,
        );
      return [await tried('a', 100_000), await tried('b', 100_001), await tried('c', 50_001)];
    });
    expect(result).toEqual([
      'kept',
      expect.stringMatching(/at most 100000 bytes \(MILLRACE_MAX_FILE\)/),
      expect.stringMatching(/MILLRACE_MAX_JOB_FILES/),
    ]);
    const [folder = ''] = await readdir(here.dir.path);
    expect(await readdir(join(here.dir.path, folder, 'incoming'))).toEqual([]);
  });

  test('bad content and names are refused as such', async () => {
    await using here = await stage();
    const { result } = await here.run(async ({ files }) => {
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => 'kept',
          (error: unknown) => (isMillraceError(error) ? error.code : String(error)),
        );
      const texts = (async function* () {
        yield 'text' as unknown as Uint8Array;
      })();
      const broken = (async function* () {
        yield new Uint8Array(1);
        throw new Error('source broke');
      })();
      return [
        await codeOf(files.put('', 'x')),
        await codeOf(files.put('a', 7 as never)),
        await codeOf(files.put('a', texts)),
        await codeOf(files.put('a', 'x', { type: 'no type' })),
        await codeOf(files.put('a', broken)),
        await codeOf(files.put('a', 'x', { signal: AbortSignal.abort(new Error('given up')) })),
        (await files.list()).length,
      ];
    });
    expect(result).toEqual([
      'file-name-invalid',
      'option-invalid',
      'option-invalid',
      'option-invalid',
      'Error: source broke',
      'Error: given up',
      0,
    ]);
  });

  test('a source that never yields ends with the attempt', async () => {
    await using here = await stage();
    const stuck = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) };
    here.will(({ files }) => files.put('never', stuck));
    await here.worker.start();
    const handle = await here.client.dispatch(here.job);
    await waitFor(async () => (await handle.job())?.status === 'processing', { describe: 'it to run' });
    await handle.cancel();
    await expect(handle.result(wait)).rejects.toMatchObject({ code: 'job-cancelled' });
  });

  test('a database goes with one folder: a worker that has another is told, and keeps nothing there', async () => {
    await using here = await stage();
    await here.run(({ files }) => files.put('a', 'here'));
    await using elsewhere = tempDir('files');
    const { job, will } = workJob();
    will(({ files }) => files.put('b', 'there').catch((error: Error) => error.message));
    await here.worker.stop();
    await using other = new Millrace({
      ...{ database: here.database.address, jobs: [job], files: elsewhere.path, workerSleep: '200ms' },
    });
    await using worker = other.worker();
    await worker.start();
    const handle = await other.dispatch(job);
    expect(await handle.result(wait)).toMatch(/not kept in .*Set MILLRACE_FILES/);
    expect(await readdir(elsewhere.path)).toEqual([]);
  });

  test('two databases may share a parent folder', async () => {
    await using one = await stage();
    await one.run(({ files }) => files.put('a', 'one'));
    await using database = await emptyDatabase('sqlite');
    const { job, will } = workJob();
    will(async ({ files }) => (await files.put('a', 'two')).name);
    await using two = new Millrace({ database: database.address, jobs: [job], files: one.dir.path });
    await using worker = two.worker();
    await worker.start();
    expect(await (await two.dispatch(job)).result(wait)).toBe('a');
    expect(await readdir(one.dir.path)).toHaveLength(2);
    await worker.stop();
  });
});

describe('files over a hub', () => {
  async function hubStage() {
    const here = await stage();
    const hub = await openHub(() => here.client.internals.storage(), { client: here.client });
    const proxy = await tcpProxy(hub.url);
    const { job, will } = workJob();
    const away = new Millrace({
      ...{ database: 'postgres://nobody@127.0.0.1:9/none', jobs: [job], heartbeat: '500ms' },
    });
    const worker = away.worker({ hub: proxy.url.replace('http', 'ws').replace(/\/$/, '') });
    await worker.start();
    return {
      ...{ here, proxy, will },
      begin: () => here.client.dispatch('work'),
      async [Symbol.asyncDispose]() {
        await away.close();
        await proxy[Symbol.asyncDispose]();
        await hub[Symbol.asyncDispose]();
        await here[Symbol.asyncDispose]();
      },
    };
  }

  test('streamed in and out', async () => {
    await using there = await hubStage();
    there.will(({ files }) => roundTrip(files));
    expect(await (await there.begin()).result(wait)).toEqual(tripped);
  });

  test('a cut in the middle is gone on from, without a byte lost or sent by the source twice', async () => {
    await using there = await hubStage();
    const bytes = randomBytes(6_000_000);
    let yielded = 0;
    there.will(async ({ files }) => {
      const source = (async function* () {
        for await (const part of inParts(bytes, 100_000)) {
          yielded += 1;
          if (yielded === 20 || yielded === 40) there.proxy.cut('reset');
          yield part;
        }
      })();
      const file = await files.put('large.bin', source);
      return file.sha256;
    });
    expect(await (await there.begin()).result(wait)).toBe(hashOf(bytes));
    expect(yielded).toBe(60);
    expect(there.proxy.accepted).toBeGreaterThanOrEqual(3);
  }, 60_000);
});
