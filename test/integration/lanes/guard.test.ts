import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { isRunning, membersOfGroups } from '../../support/process-groups.js';
import { waitFor } from '../../support/wait-for.js';

const parentFile = fileURLToPath(new URL('../../support/lane-parent.mjs', import.meta.url));

it.each([
  ['spins for ever', { do: 'spin' }],
  ['waits', { do: 'wait' }],
  ['has started a process', { do: 'leave-process-and-spin' }],
])('a lane that %s ends with its worker, also when that is killed', { timeout: 60_000 }, async (_, input) => {
  const parent = spawn(process.execPath, [parentFile, JSON.stringify({ input })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  parent.stdout.on('data', (chunk: Buffer) => {
    output += String(chunk);
  });
  try {
    const match = await waitFor(() => /lane (\d+)\n/.exec(output), {
      describe: 'the handler to run',
      deadlineMs: 30_000,
    });
    const pid = Number(match[1]);
    expect(isRunning(pid)).toBe(true);
    parent.kill('SIGKILL');
    await waitFor(() => membersOfGroups([pid]).length === 0, {
      describe: 'the group of the lane to be gone',
      deadlineMs: 30_000,
    });
  } finally {
    parent.kill('SIGKILL');
  }
});
