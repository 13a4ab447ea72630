import { existsSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tempDir } from './temp.js';

test('a temporary folder is gone with everything in it after its scope', async () => {
  let path: string;
  {
    await using dir = tempDir();
    path = dir.path;
    writeFileSync(dir.file('a.txt'), 'a');
    expect(existsSync(path)).toBe(true);
  }
  expect(existsSync(path)).toBe(false);
});
