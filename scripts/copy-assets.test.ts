import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../test/support/temp.js';

test('a build gets its SQL files and an executable command, and loses what has no source', async () => {
  await using dir = tempDir('assets');
  const put = (name: string) => {
    mkdirSync(dirname(dir.file(name)), { recursive: true });
    writeFileSync(dir.file(name), name);
  };
  const sources = ['src/storage/sqlite/migrations/0001-start.sql', 'src/cli/main.ts'];
  const kept = ['dist/cli/main.js', 'dist/cli/main.d.ts', 'dist/cli/main.js.map', 'dist/.tsbuildinfo'];
  const stale = ['dist/old.js', 'dist/old.d.ts', 'dist/old.js.map', 'dist/storage/old.sql'];
  [...sources, ...kept, ...stale].forEach(put);

  const script = join(import.meta.dirname, 'copy-assets.mjs');
  expect(spawnSync(process.execPath, [script, dir.path], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });

  expect(readFileSync(dir.file('dist/storage/sqlite/migrations/0001-start.sql'), 'utf8')).toBe(sources[0]);
  expect(statSync(dir.file('dist/cli/main.js')).mode & 0o111).toBe(0o111);
  expect(kept.filter((name) => !existsSync(dir.file(name)))).toEqual([]);
  expect(stale.filter((name) => existsSync(dir.file(name)))).toEqual([]);
});
