import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, runNode } from './packed.js';

test('100 types of jobs compile in 1.5 s over an empty project', { timeout: 120_000 }, async () => {
  // Exits with an error beyond its limits, which allow for a machine that is busy.
  const { stdout } = await runNode([join(root, 'scripts/measure-types.mjs')], root);
  expect(stdout).toMatch(/Types: 100 jobs cost \d+ ms over an empty project/);
  process.stdout.write(stdout);
});
