import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from './temp.js';

const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const REPORTER = join(import.meta.dirname, 'summary-reporter.ts');

/** A whole run of Vitest over one file. */
async function run(source: string) {
  await using dir = tempDir('reporter');
  symlinkSync(join(import.meta.dirname, '../../node_modules'), dir.file('node_modules'));
  writeFileSync(dir.file('sample.test.ts'), `import { beforeAll, describe, test } from 'vitest';\n${source}`);
  const reporters = ['--reporter=default', `--reporter=${REPORTER}`];
  const args = [VITEST, 'run', '--root', dir.path, ...reporters];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, stdout, lastLine: stdout.trimEnd().split('\n').at(-1) };
}

test('a sound run ends with its count and success', async () => {
  const { status, stdout, lastLine } = await run(`
    test('a [memory]', () => {});
    test.skip('b', () => {});`);
  expect(stdout).toMatch(/memory +1 passed, 0 failed\n/);
  expect(lastLine).toBe('1 passed, 0 failed, 1 skipped');
  expect(status).toBe(0);
});

test.each([
  ['a test', `test('a', () => { throw new Error('no'); });`, '0 passed, 1 failed'],
  ['a file that does not load', `await import('./nowhere.js');`, '0 passed, 1 failed'],
  ['a promise nobody awaits', `test('a', () => { Promise.reject(new Error('no')); });`, '1 passed, 1 failed'],
])('a failure of %s is counted and fails the run', async (_what, source, expected) => {
  const { status, lastLine } = await run(source);
  expect(lastLine).toBe(expected);
  expect(status).toBe(1);
});
