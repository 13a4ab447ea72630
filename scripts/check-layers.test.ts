import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../test/support/temp.js';

const SCRIPT = join(import.meta.dirname, 'check-layers.mjs');

async function check(files: Record<string, string>) {
  await using dir = tempDir('layers');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(dir.file('src', name)), { recursive: true });
    writeFileSync(dir.file('src', name), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, dir.path], { encoding: 'utf8' });
  return { status, breaches: stderr.split('\n').filter(Boolean) };
}

test.each([
  ['a lower layer that imports a higher one', 'core/a.ts', `import { b } from '../storage/b.js';`],
  ['a type import of a higher layer', 'core/a.ts', `import type { B } from '../storage/b.js';`],
  ['a re-export from a higher layer', 'core/a.ts', `export * from '../storage/b.js';`],
  ['a dynamic import of a higher layer', 'client/a.ts', `await import('../worker/b.js');`],
  ['an import over several lines', 'client/a.ts', `import {\n  b,\n} from '../worker/b.js';`],
  ['an import of the root from a layer', 'client/a.ts', `import { b } from '../index.js';`],
  ['a layer that nobody knows', 'utils/a.ts', 'export {};'],
  ['a driver outside its storage folder', 'storage/mysql/a.ts', `import pg from 'pg';`],
  ['a driver by a path in its package', 'client/a.ts', `import type { Pool } from 'mysql2/promise';`],
  ['I/O in core', 'core/a.ts', `import { readFileSync } from 'node:fs';`],
  ['the clock in core', 'core/a.ts', 'export const a = () => Date.now();'],
  ['a date of now in core', 'core/a.ts', 'export const a = () => new Date();'],
  ['a timer in core', 'core/a.ts', 'setTimeout(() => {}, 1);'],
  ['chance in core', 'core/a.ts', 'export const a = Math.random();'],
])('catches %s', async (_what, file, text) => {
  const { status, breaches } = await check({ [file]: `export const first = 1;\n${text}\n` });
  expect(status).toBe(1);
  expect(breaches).toHaveLength(1);
  expect(breaches[0]).toMatch(new RegExp(`^src/${file}:[1234]: `));
});

test('admits what the house allows', async () => {
  const { status, breaches } = await check({
    'index.ts': `export * from './client/millrace.js';`,
    'client/millrace.ts': `import { Worker } from '../worker/worker.js';`,
    'worker/worker.ts': `import { A } from '../client/a.js';\nsetTimeout(() => {}, Date.now());`,
    'storage/sqlite/connection.ts': `import Database from 'better-sqlite3';`,
    'storage/mysql/connection.ts': `import { createPool } from 'mysql2/promise';`,
    'core/backoff.ts': `// no Date.now() here\n/* nor\n setTimeout */\nimport { hash } from 'node:crypto';\nnew Date(5);`,
    'core/backoff.test.ts': `import { b } from '../worker/b.js';`,
  });
  expect(breaches).toEqual([]);
  expect(status).toBe(0);
});
