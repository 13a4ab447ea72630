import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempDir } from '../support/temp.js';
import { commandOf, pack, root, runNode } from './packed.js';

const folder = tempDir('lint');
let file = '';

beforeAll(async () => {
  file = await pack(folder.path);
}, 60_000);
afterAll(() => folder[Symbol.asyncDispose]());

describe('the packed package', () => {
  test('publint finds nothing', { timeout: 60_000 }, async () => {
    const { stdout } = await runNode([commandOf('publint', 'publint'), 'run', file, '--strict'], root);
    expect(stdout).toContain('All good!');
  });

  test('each entry has the types of what it exports', { timeout: 60_000 }, async () => {
    // ESM only: `require` of it is for Node to allow, and resolution as of Node 10 knows no exports map.
    const args = [file, '--profile', 'esm-only', '--format', 'json'];
    const { stdout } = await runNode([commandOf('@arethetypeswrong/cli', 'attw'), ...args], root);
    const { analysis } = JSON.parse(stdout) as { analysis: { entrypoints: Record<string, unknown> } };
    expect(Object.keys(analysis.entrypoints)).toEqual(['.', './hub', './testing', './package.json']);
  });
});
