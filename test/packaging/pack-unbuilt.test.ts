import { cp, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { tempDir } from '../support/temp.js';
import { root, runProgram } from './packed.js';

const folder = tempDir('pack-unbuilt');
const sources = ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md'];

afterAll(() => folder[Symbol.asyncDispose]());

test('npm pack in a clone that was not built makes a whole package', async () => {
  for (const path of sources) await cp(join(root, path), folder.file(path), { recursive: true });
  await symlink(join(root, 'node_modules'), folder.file('node_modules'), 'dir');
  await runProgram('npm', ['pack'], folder.path);
  const file = (await readdir(folder.path)).find((name) => name.endsWith('.tgz')) ?? '';
  const { stdout } = await runProgram('tar', ['tzf', file], folder.path);
  const packed = stdout.split('\n');
  for (const path of ['dist/index.js', 'dist/index.d.ts', 'dist/testing/index.js', 'dist/cli/main.js']) {
    expect(packed).toContain(`package/${path}`);
  }
}, 120_000);
