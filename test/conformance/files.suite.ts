import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { Lease } from '../../src/storage/claimed-job.js';
import type { FileAddition, FileAdditionOutcome, NewFile } from '../../src/storage/job-file.js';
import { done, expectAbout, type Stage } from './stage.js';

export function filesSuite(stage: Stage): void {
  const hash = (text: string = randomBytes(8).toString('hex')) =>
    createHash('sha256').update(text).digest('hex');
  const newFile = (with_: Partial<NewFile> = {}): NewFile => ({
    id: uuidv7(),
    name: 'a.txt',
    type: 'text/plain',
    sizeBytes: 3,
    sha256: hash(),
    ...with_,
  });
  const add = (
    { id, token }: Lease,
    file: NewFile,
    most: Partial<FileAddition> = {},
  ): Promise<FileAdditionOutcome> =>
    stage.storage.addFile({ lease: { id, token }, file, mostBytes: 1e12, mostFiles: 100, ...most });
  const names = async (jobId: string) => (await stage.storage.files(jobId)).map(({ name }) => name);

  test('a file is listed under its job, as it was added', async () => {
    const job = await stage.running(stage.queue());
    const now = await stage.storage.now();
    const file = newFile({ name: 'Übersicht 😀 “1”.html', type: 'text/html; charset=utf-8', sizeBytes: 5e9 });
    const outcome = await add(job, file);
    const listed = await stage.storage.files(job.id);
    expect(listed).toMatchObject([{ ...file, jobId: job.id }]);
    expectAbout(listed[0]?.createdAtMs, now);
    expect(outcome).toEqual({ outcome: 'done', file: listed[0] });
    expect(await stage.storage.file(file.id)).toEqual(listed[0]);
  });

  test('files of a job come by name, byte by byte, and those of others do not', async () => {
    const queue = stage.queue();
    const [job, other] = [await stage.running(queue), await stage.running(queue)];
    for (const name of ['b', 'a', 'B', 'é', '10', '9']) await add(job, newFile({ name }));
    await add(other, newFile({ name: 'theirs' }));
    expect(await names(job.id)).toEqual(['10', '9', 'B', 'a', 'b', 'é']);
    expect(await stage.storage.files(uuidv7())).toEqual([]);
    expect(await stage.storage.file(uuidv7())).toBeNull();
  });

  test('the same name again takes the place of the first', async () => {
    const job = await stage.running(stage.queue());
    const [first, second] = [newFile(), newFile()];
    await add(job, first);
    await add(job, second);
    expect((await stage.storage.files(job.id)).map(({ id }) => id)).toEqual([second.id]);
    expect(await stage.storage.file(first.id)).toBeNull();
    expect(await stage.storage.keptContents([first.sha256, second.sha256])).toEqual([second.sha256]);
  });

  test('a repeat adds nothing', async () => {
    const job = await stage.running(stage.queue());
    const file = newFile();
    await add(job, file);
    expect(await add(job, file, { mostFiles: 1, mostBytes: 3 })).toMatchObject({ outcome: 'done', file });
    expect(await stage.storage.files(job.id)).toHaveLength(1);
  });

  test('who lost the lease adds nothing', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    expect(await add({ id: job.id, token: stage.token() }, newFile())).toEqual({ outcome: 'lease-lost' });
    await stage.settle(job, { kind: 'snoozed', delayMs: 0 });
    expect(await add(job, newFile())).toEqual({ outcome: 'lease-lost' });
    const again = await stage.claimOne(queue);
    expect(await add(job, newFile())).toEqual({ outcome: 'lease-lost' });
    await stage.settle(again, done);
    expect(await add(again, newFile())).toEqual({ outcome: 'lease-lost' });
    expect(await add({ id: uuidv7(), token: stage.token() }, newFile())).toEqual({ outcome: 'lease-lost' });
    expect(await names(job.id)).toEqual([]);
  });

  test('a job has only so many files and bytes; a replaced one does not count', async () => {
    const job = await stage.running(stage.queue());
    const most = { mostBytes: 10, mostFiles: 2 };
    await add(job, newFile({ name: 'a', sizeBytes: 6 }), most);
    expect(await add(job, newFile({ name: 'b', sizeBytes: 5 }), most)).toEqual({
      ...{ outcome: 'full', sizeBytes: 6, count: 1 },
    });
    expect(await add(job, newFile({ name: 'a', sizeBytes: 10 }), most)).toMatchObject({ outcome: 'done' });
    expect(await add(job, newFile({ name: 'b', sizeBytes: 0 }), most)).toMatchObject({ outcome: 'done' });
    expect(await add(job, newFile({ name: 'c', sizeBytes: 0 }), most)).toEqual({
      ...{ outcome: 'full', sizeBytes: 10, count: 2 },
    });
    expect(await names(job.id)).toEqual(['a', 'b']);
  });

  test('of many added at once exactly as many as there is room for get in', async () => {
    const job = await stage.running(stage.queue());
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        add(job, newFile({ name: `${n}`, sizeBytes: 10 }), { mostBytes: 50 }),
      ),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'done')).toHaveLength(5);
    expect(await stage.storage.files(job.id)).toHaveLength(5);
  });

  test('files stay with a job that ended, and after it is retried', async () => {
    const job = await stage.running(stage.queue());
    const file = newFile();
    await add(job, file);
    await stage.settle(job, { kind: 'cancelled', reason: null });
    expect(await stage.storage.file(file.id)).toMatchObject({ id: file.id });
    await stage.storage.retry(job.id);
    expect(await names(job.id)).toEqual(['a.txt']);
  });

  test('a sweep removes the files of jobs that are gone, page by page, and no others', async () => {
    const queue = stage.queue();
    const [kept, gone, ended] = [
      await stage.running(queue),
      await stage.running(queue),
      await stage.running(queue),
    ];
    const files = new Map<string, NewFile[]>();
    for (const job of [kept, gone, ended]) {
      const own = ['a', 'b', 'c'].map((name) => newFile({ name }));
      for (const file of own) await add(job, file);
      files.set(job.id, own);
    }
    await stage.settle(ended, done);
    await stage.settle(gone, done);
    await stage.storage.delete(gone.id);
    const theirs = files.get(gone.id) ?? [];
    expect(await stage.storage.file(theirs[0]?.id ?? '')).toBeNull();
    let after: string | null = null;
    let pages = 0;
    do {
      const swept = await stage.storage.sweepFiles({ after, limit: 2 });
      after = swept.next;
      pages += 1;
    } while (after !== null);
    expect(pages).toBeGreaterThan(3);
    expect(await names(gone.id)).toEqual([]);
    expect(await names(kept.id)).toEqual(['a', 'b', 'c']);
    expect(await names(ended.id)).toEqual(['a', 'b', 'c']);
    expect(await stage.storage.keptContents(theirs.map(({ sha256 }) => sha256))).toEqual([]);
    expect(await stage.storage.sweepFiles({ after: null, limit: 1_000 })).toEqual({ removed: 0, next: null });
  });

  test('a content is kept as long as any file has it', async () => {
    const queue = stage.queue();
    const [one, two] = [await stage.running(queue), await stage.running(queue)];
    const sha256 = hash();
    for (const job of [one, two]) await add(job, newFile({ sha256 }));
    await add(one, newFile());
    expect(await stage.storage.keptContents([hash(), sha256])).toEqual([sha256]);
    await add(two, newFile());
    expect(await stage.storage.keptContents([sha256])).toEqual([]);
    expect(await stage.storage.keptContents([])).toEqual([]);
  });

  test('the first who proposes gives the byte store its id', async () => {
    const [first, second] = [uuidv7(), uuidv7()];
    const before = await stage.storage.fileStoreId(null);
    expect(before).toBeNull();
    const answers = await Promise.all([stage.storage.fileStoreId(first), stage.storage.fileStoreId(second)]);
    expect(new Set(answers).size).toBe(1);
    expect([first, second]).toContain(answers[0]);
    expect(await stage.storage.fileStoreId(null)).toBe(answers[0]);
  });
}
