import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../test/support/temp.js';

test('a build has its SQL in a module and an executable command, and loses what has no source', async () => {
  await using dir = tempDir('assets');
  const put = (name: string) => {
    mkdirSync(dirname(dir.file(name)), { recursive: true });
    writeFileSync(dir.file(name), name);
  };
  const migrations = 'storage/sqlite/migrations';
  const sources = [`src/${migrations}/0001_a.sql`, `src/${migrations}/texts.ts`, 'src/cli/main.ts'];
  const kept = ['dist/cli/main.js', 'dist/cli/main.d.ts', 'dist/.tsbuildinfo'];
  const stale = ['dist/old.js', 'dist/old.d.ts', 'dist/cli/main.js.map', `dist/${migrations}/0001_a.sql`];
  [...sources, ...kept, ...stale].forEach(put);

  const script = join(import.meta.dirname, 'finish-build.mjs');
  expect(spawnSync(process.execPath, [script, dir.path], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });

  const embedded = (await import(dir.file(`dist/${migrations}/texts.js`))) as { migrationTexts(): unknown };
  expect(embedded.migrationTexts()).toEqual({ '0001_a.sql': sources[0] });
  expect(statSync(dir.file('dist/cli/main.js')).mode & 0o111).toBe(0o111);
  expect(kept.filter((name) => !existsSync(dir.file(name)))).toEqual([]);
  expect(stale.filter((name) => existsSync(dir.file(name)))).toEqual([]);
});
