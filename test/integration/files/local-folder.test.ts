import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contentPath, LocalFolder } from '../../../src/storage/files/local-folder.js';
import { tempDir } from '../../support/temp.js';

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const never = new AbortController().signal;
const hour = 3_600_000;

async function put(store: LocalFolder, id: string, bytes: Uint8Array): Promise<string> {
  await store.beginUpload(id);
  await store.writeUpload(id, 0, bytes);
  return (await store.finishUpload(id, bytes.length)).sha256;
}

async function read(
  store: LocalFolder,
  sha256: string,
  start = 0,
  end = Number.MAX_SAFE_INTEGER,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of store.open(sha256, { start, end })) parts.push(part);
  return Buffer.concat(parts);
}

function sweep(
  store: LocalFolder,
  kept: readonly string[],
  onAsk: () => Promise<void> = async () => undefined,
) {
  return store.sweep({
    olderThanMs: hour,
    uploadsOlderThanMs: 24 * hour,
    kept: async (hashes) => {
      await onAsk();
      return hashes.filter((hash) => kept.includes(hash));
    },
    signal: never,
  });
}

async function age(path: string, ms: number): Promise<void> {
  const at = new Date(Date.now() - ms);
  await utimes(path, at, at);
}

describe('a folder of files', () => {
  test('gives back what it was given, whole and in part', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    const bytes = randomBytes(700_000);
    const sha256 = await put(store, 'one', bytes);
    expect(sha256).toBe(hashOf(bytes));
    expect((await read(store, sha256)).equals(bytes)).toBe(true);
    expect((await read(store, sha256, 0, 1)).equals(bytes.subarray(0, 1))).toBe(true);
    expect((await read(store, sha256, 262_143, 262_145)).equals(bytes.subarray(262_143, 262_145))).toBe(true);
    expect((await read(store, sha256, 699_999, 900_000)).equals(bytes.subarray(699_999))).toBe(true);
    expect(await read(store, sha256, 700_000)).toHaveLength(0);
    expect(await readdir(join(dir.path, 'incoming'))).toEqual([]);
  });

  test('an empty file is a file', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    await store.beginUpload('none');
    const { sha256 } = await store.finishUpload('none', 0);
    expect(sha256).toBe(hashOf(Buffer.alloc(0)));
    expect(await read(store, sha256)).toHaveLength(0);
  });

  test('the same bytes put twice, also at once, are kept once', async () => {
    await using dir = tempDir('files');
    const [store, another] = [new LocalFolder(dir.path), new LocalFolder(dir.path)];
    const bytes = randomBytes(300_000);
    const hashes = await Promise.all([
      put(store, 'a', bytes),
      put(another, 'b', bytes),
      put(store, 'c', bytes),
    ]);
    expect(new Set(hashes).size).toBe(1);
    expect(await readdir(join(dir.path, 'contents', hashOf(bytes).slice(0, 2)))).toEqual([hashOf(bytes)]);
    expect((await read(store, hashOf(bytes))).equals(bytes)).toBe(true);
  });

  test('another process goes on with an upload; what is there is passed over, a gap is refused', async () => {
    await using dir = tempDir('files');
    const [first, second] = [new LocalFolder(dir.path), new LocalFolder(dir.path)];
    const bytes = randomBytes(1_000);
    await first.beginUpload('u');
    await first.writeUpload('u', 0, bytes.subarray(0, 600));
    expect(await second.beginUpload('u')).toBe(600);
    expect(await second.writeUpload('u', 400, bytes.subarray(400, 800))).toBe(800);
    expect(await second.writeUpload('u', 0, bytes.subarray(0, 300))).toBe(800);
    await expect(second.writeUpload('u', 801, bytes.subarray(801))).rejects.toMatchObject({
      code: 'file-upload-lost',
    });
    await expect(second.finishUpload('u', 1_000)).rejects.toMatchObject({ code: 'file-upload-lost' });
    await second.writeUpload('u', 800, bytes.subarray(800));
    expect(await second.finishUpload('u', 1_000)).toEqual({ sha256: hashOf(bytes), sizeBytes: 1_000 });
    await expect(first.writeUpload('u', 600, bytes)).rejects.toMatchObject({ code: 'file-upload-lost' });
  });

  test('pieces sent at once are written in their order', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    const bytes = randomBytes(4_000);
    await store.beginUpload('u');
    const offsets = [0, 1_000, 2_000, 3_000];
    await Promise.all(offsets.map((at) => store.writeUpload('u', at, bytes.subarray(at, at + 1_000))));
    expect((await store.finishUpload('u', 4_000)).sha256).toBe(hashOf(bytes));
  });

  test('an id that is a path is refused', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(join(dir.path, 'store'));
    for (const id of ['../escape', 'a/b', '', '.', '..', 'x'.repeat(65)])
      await expect(store.beginUpload(id)).rejects.toMatchObject({ code: 'file-upload-lost' });
    expect(await readdir(dir.path, { recursive: true })).toEqual(['store', 'store/incoming']);
  });

  test('bytes that are not there are told, and a folder that can’t be used', async () => {
    await using dir = tempDir('files');
    await expect(read(new LocalFolder(dir.path), hashOf(Buffer.from('x')))).rejects.toMatchObject({
      code: 'file-not-found',
    });
    await writeFile(join(dir.path, 'a-file'), '');
    await expect(new LocalFolder(join(dir.path, 'a-file')).beginUpload('u')).rejects.toMatchObject({
      code: 'file-store-unusable',
    });
  });

  test.skipIf(process.platform !== 'linux')('a full disk is told, and loses nothing', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    const bytes = randomBytes(1_000);
    const sha256 = await put(store, 'before', bytes);
    // The device of Linux that is always full.
    await (await import('node:fs/promises')).symlink('/dev/full', join(dir.path, 'incoming', 'u'));
    await expect(store.writeUpload('u', 0, bytes)).rejects.toMatchObject({
      code: 'file-store-full',
      retryable: true,
    });
    expect((await read(store, sha256)).equals(bytes)).toBe(true);
  });
});

describe('a sweep of the folder', () => {
  test('removes old bytes that no row names, and nothing else', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    const [orphan, young, named] = [
      await put(store, 'a', Buffer.from('orphan')),
      await put(store, 'b', Buffer.from('young')),
      await put(store, 'c', Buffer.from('named')),
    ];
    for (const hash of [orphan, named]) await age(contentPath(dir.path, hash), 2 * hour);
    const stranger = join(dir.path, 'contents', orphan.slice(0, 2), 'README');
    await writeFile(stranger, 'mine');
    await age(stranger, 100 * hour);
    expect(await sweep(store, [named])).toBe(1);
    await expect(read(store, orphan)).rejects.toMatchObject({ code: 'file-not-found' });
    expect((await read(store, young)).toString()).toBe('young');
    expect((await read(store, named)).toString()).toBe('named');
    expect(await readFile(stranger, 'utf8')).toBe('mine');
  });

  test('gives back what was put anew, or got a row, while it looked', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    const [again, late] = [Buffer.from('again'), Buffer.from('late')];
    const kept: string[] = [];
    for (const [id, bytes] of [
      ['a', again],
      ['b', late],
    ] as const)
      await age(contentPath(dir.path, await put(store, id, bytes)), 2 * hour);
    let asked = 0;
    const removed = await sweep(store, kept, async () => {
      asked += 1;
      if (asked > 1) return;
      await put(store, 'c', again);
      kept.push(hashOf(late));
      // Both shelves are asked for in turn.
    });
    expect(removed).toBe(0);
    expect((await read(store, hashOf(again))).equals(again)).toBe(true);
    expect((await read(store, hashOf(late))).equals(late)).toBe(true);
  });

  test('a failed answer about rows removes nothing', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    const sha256 = await put(store, 'a', Buffer.from('kept'));
    await age(contentPath(dir.path, sha256), 2 * hour);
    await expect(sweep(store, [], () => Promise.reject(new Error('away')))).rejects.toBeDefined();
    expect((await read(store, sha256)).toString()).toBe('kept');
  });

  test('ends what a sweep that died had taken away', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    const [named, orphan] = [Buffer.from('named'), Buffer.from('orphan')];
    await mkdir(join(dir.path, 'leaving'));
    await mkdir(join(dir.path, 'contents', hashOf(named).slice(0, 2)), { recursive: true });
    for (const bytes of [named, orphan]) {
      const path = join(dir.path, 'leaving', `${hashOf(bytes)}.ab12`);
      await writeFile(path, bytes);
      await age(path, 2 * hour);
    }
    await sweep(store, [hashOf(named)]);
    expect((await read(store, hashOf(named))).equals(named)).toBe(true);
    expect(await readdir(join(dir.path, 'leaving'))).toEqual([]);
  });

  test('forgets uploads that nobody went on with for a day', async () => {
    await using dir = tempDir('files');
    const store = new LocalFolder(dir.path);
    for (const id of ['old', 'new']) await store.beginUpload(id);
    await age(join(dir.path, 'incoming', 'old'), 25 * hour);
    await sweep(store, []);
    expect(await readdir(join(dir.path, 'incoming'))).toEqual(['new']);
  });
});
