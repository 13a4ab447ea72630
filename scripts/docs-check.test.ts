import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../test/support/temp.js';

const SCRIPT = join(import.meta.dirname, 'docs-check.mjs');
const MANIFEST = {
  name: 'millrace',
  type: 'module',
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
};

/** A small package with this page as its only documentation. */
async function check(page: string) {
  await using dir = tempDir('docs');
  mkdirSync(dir.file('dist'));
  mkdirSync(dir.file('docs/guides'), { recursive: true });
  symlinkSync(join(import.meta.dirname, '../node_modules'), dir.file('node_modules'));
  writeFileSync(dir.file('package.json'), JSON.stringify(MANIFEST));
  writeFileSync(
    dir.file('dist/index.d.ts'),
    'export declare function dispatch(name: string): Promise<number>;',
  );
  writeFileSync(dir.file('docs/guides/page.md'), page);
  return spawnSync(process.execPath, [SCRIPT, dir.path], { encoding: 'utf8' });
}

function block(info: string, ...lines: string[]): string {
  return [`\`\`\`${info}`, ...lines, '```', ''].join('\n');
}

test('a sound block passes and is counted', async () => {
  const { status, stdout } = await check(
    block('ts', `import { dispatch } from 'millrace';`, `const id: number = await dispatch('a');`) +
      block('ts no-check', 'nonsense nonsense') +
      block('sh', 'npm ci'),
  );
  expect(stdout).toContain('1 TypeScript blocks');
  expect(stdout).toContain('1 marked no-check');
  expect(status).toBe(0);
});

test('a block that no longer fits the package fails with the line of its page', async () => {
  const page = `# Title\n\n${block('ts', `import { dispatch } from 'millrace';`, 'await dispatch(5);')}`;
  const { status, stderr } = await check(page);
  expect(stderr).toContain('docs/guides/page.md:5:16: error');
  expect(status).toBe(1);
});

test('a named block can be imported by another block of its page', async () => {
  const page =
    block('ts file=jobs.ts', `export const name = 'a';`) +
    block(
      'ts',
      `import { dispatch } from 'millrace';`,
      `import { name } from './jobs.js';`,
      'await dispatch(name);',
    );
  const { status, stderr } = await check(page);
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
