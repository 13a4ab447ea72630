import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { defineJob, Millrace } from '../../dist/index.js';
import { nowUs } from '../clock.mjs';
import { median } from '../statistics.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const startDeadlineMs = 30_000;
const stopDeadlineMs = 15_000;

/**
 * From just before the spawn of a fresh `millrace work` to the start of the handler of a job that waits for it, `starts`
 * times one after the other. The schema is in place; the clock is one that all processes share.
 */
export async function startToFirstJob({ database, kind, starts }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-start-'));
  const first = defineJob('first', { run: () => undefined });
  const millrace = new Millrace({ database, jobs: [first], migrate: 'auto' });
  const times = [];
  const problems = [];
  try {
    await millrace.open();
    writeFileSync(join(folder, 'millrace.config.mjs'), configOf(database, folder));
    for (let number = 0; number < starts; number += 1) {
      await millrace.dispatch(first, number);
      times.push(await startOnce({ database, folder, kind, mark: join(folder, `started-${number}`) }));
    }
    const { completed } = await millrace.stats('default');
    if (completed !== starts) problems.push(`${completed} of ${starts} jobs were completed`);
  } finally {
    await millrace.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return { starts, p50: median(times), max: Math.max(...times), problems };
}

/** The mark appears whole: it is written under another name first. */
const configOf = (database, folder) => `import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, defineJob } from ${JSON.stringify(join(root, 'dist/index.js'))};
const first = defineJob('first', {
  run({ input }) {
    const us = String(process.hrtime.bigint() / 1_000n);
    const mark = join(${JSON.stringify(folder)}, 'started-' + input);
    writeFileSync(mark + '.part', us);
    renameSync(mark + '.part', mark);
  },
});
export default defineConfig({ database: ${JSON.stringify(database)}, jobs: [first] });
`;

/** Milliseconds. */
async function startOnce({ database, folder, kind, mark }) {
  const args = [join(root, 'dist/cli/main.js'), 'work', ...(kind === 'alone' ? ['--no-supervisor'] : [])];
  const env = { ...process.env, MILLRACE_DATABASE: database };
  const startedUs = nowUs();
  const command = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  command.stderr.setEncoding('utf8').on('data', (text) => {
    said = (said + text).slice(-2_000);
  });
  const exit = new Promise((resolve) => command.once('exit', (code, signal) => resolve(code ?? signal)));
  try {
    const deadlineMs = performance.now() + startDeadlineMs;
    while (!existsSync(mark)) {
      if (command.exitCode !== null)
        throw new Error(`it ended with ${command.exitCode} before its job: ${said}`);
      if (performance.now() > deadlineMs)
        throw new Error(`no job within ${startDeadlineMs / 1_000} s: ${said}`);
      await delay(10);
    }
    return (Number(readFileSync(mark, 'utf8')) - startedUs) / 1_000;
  } finally {
    command.kill('SIGTERM');
    const killer = setTimeout(() => command.kill('SIGKILL'), stopDeadlineMs);
    await exit;
    clearTimeout(killer);
  }
}
