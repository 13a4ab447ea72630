import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const soak = fileURLToPath(new URL('../../../bench/soak.mjs', import.meta.url));

test('[sqlite] a small soak of an adaptive pool that recycles loses nothing and leaves nothing behind', async () => {
  const options = ['--jobs', '5000', '--recycle', '500', '--workers', '3', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [soak, ...options], { timeout: 100_000 });
  const figures = JSON.parse(stdout) as { completed: number; recycles: number; faults: string[] };
  expect(figures).toMatchObject({ completed: 5_000, runs: 5_000, orphans: 0, exitCode: 0, faults: [] });
  expect(figures.recycles).toBeGreaterThan(0);
}, 110_000);
