#!/usr/bin/env node
/*
 * npm run soak: short jobs in waves through an adaptive pool of real worker processes that recycle, then a stop. Judged by
 * what must hold at the end: nothing lost, nothing run twice, memory flat, no process left behind. Exit 1 where one does not.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Millrace } from '../dist/index.js';

const HELP = `npm run soak -- [options]
  --jobs <n>        how many, 200000 by default
  --recycle <n>     a worker recycles after so many, 5000 by default
  --workers <n>     the most workers, 4 by default
  --database <url>  a SQLite file of its own by default; elsewhere the tables are made, and left
  --json            print the figures as one JSON document`;

const { values: options } = parseArgs({
  options: {
    jobs: { type: 'string', default: '200000' },
    recycle: { type: 'string', default: '5000' },
    workers: { type: 'string', default: '4' },
    database: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  process.stdout.write(`${HELP}\n`);
  process.exit(0);
}

const jobs = Number(options.jobs);
const waves = 4;
const endDeadlineMs = 20 * 60_000;
/** Between the second quarter of the samples and the last. Heaps breathe; a leak of a soak's length shows as more. */
const mostGrowth = 1.3;
/** A shorter one has workers that are still warming up. */
const leastJobsForGrowth = 100_000;
const here = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-soak-'));
const database = options.database ?? `sqlite:${join(folder, 'queue.db')}?synchronous=NORMAL`;
const queue = `soak-${process.pid}`;
const tell = (line) => process.stderr.write(`${line}\n`);

writeFileSync(
  join(folder, 'millrace.config.mjs'),
  `import { appendFileSync } from 'node:fs';
import { defineConfig, defineJob } from ${JSON.stringify(join(here, 'dist/index.js'))};
const file = ${JSON.stringify(folder)} + '/ran-' + process.pid;
const short = defineJob('short', { run: ({ input }) => { appendFileSync(file, input + '\\n'); return input; } });
export default defineConfig({ database: ${JSON.stringify(database)}, jobs: [short] });
`,
);

let stderr = '';
const pool = spawn(
  process.execPath,
  [
    join(here, 'dist/cli/main.js'),
    'work',
    '--queue',
    queue,
    '--min-workers',
    '1',
    '--max-workers',
    options.workers,
  ],
  {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      WORKER_RECYCLE_AFTER_JOBS: options.recycle,
      MILLRACE_WORKER_POOL_SCALE_INTERVAL: '500ms',
      MILLRACE_WORKER_POOL_IDLE_GRACE: '2s',
    },
  },
);
pool.stderr.setEncoding('utf8').on('data', (text) => {
  stderr += text;
});
const ended = new Promise((resolve) => pool.once('exit', (code, signal) => resolve({ code, signal })));

const client = new Millrace({ database, migrate: 'auto' });
await client.open();
const pids = new Set();
const samples = [];

function rssOf(pid) {
  try {
    const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kb === undefined ? null : Number(kb) / 1024;
  } catch {
    return null;
  }
}

async function sample() {
  const live = (await client.workers()).filter(
    ({ status, queues }) => status !== 'offline' && queues.includes(queue),
  );
  for (const { pid } of live) pids.add(pid);
  const workers = live.map(({ pid }) => rssOf(pid)).filter((mb) => mb !== null);
  samples.push({
    supervisor: rssOf(pool.pid),
    worker: workers.length === 0 ? null : Math.max(...workers),
    count: workers.length,
  });
}

async function untilDone(count) {
  const until = performance.now() + endDeadlineMs;
  for (;;) {
    const { completed } = await client.stats(queue);
    if (completed >= count || pool.exitCode !== null) return;
    if (performance.now() > until)
      throw new Error(`waited in vain for ${count} completed jobs, there are ${completed}`);
    await sample();
    await pause(500);
  }
}

const startedAt = performance.now();
for (let wave = 0; wave < waves; wave += 1) {
  const [from, to] = [Math.round((jobs * wave) / waves), Math.round((jobs * (wave + 1)) / waves)];
  for (let n = from; n < to; n += 1_000) {
    const inputs = Array.from({ length: Math.min(1_000, to - n) }, (_, index) => n + index);
    await client.dispatchMany(inputs.map((input) => ({ job: 'short', input, options: { queue } })));
  }
  await untilDone(to);
  tell(
    `wave ${wave + 1} of ${waves}: ${to} jobs done after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  );
  // Long enough without a backlog that the pool shrinks.
  if (wave < waves - 1) await pause(4_000);
}
const seconds = (performance.now() - startedAt) / 1000;
const stats = await client.stats(queue);
pool.kill('SIGTERM');
const { code } = await ended;
await client.close();

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const ran = readdirSync(folder)
  .filter((name) => name.startsWith('ran-'))
  .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'));
const quarter = Math.floor(samples.length / 4);
const peak = (part, kind) => Math.max(...part.map((each) => each[kind] ?? 0));
const growth = (kind) =>
  peak(samples.slice(-quarter || undefined), kind) / peak(samples.slice(quarter, 2 * quarter + 1), kind);
const figures = {
  jobs,
  seconds: Math.round(seconds),
  completed: stats.completed,
  runs: ran.length,
  differentJobs: new Set(ran).size,
  buried: stats.buried,
  open: stats.pending + stats.blocked + stats.processing,
  processes: pids.size,
  recycles: (stderr.match(/pool: worker \d+ has recycled/g) ?? []).length,
  crashes: (stderr.match(/starting again in/g) ?? []).length,
  growths: (stderr.match(/pool: \d+ → \d+ workers \(backlog\)/g) ?? []).length,
  mostWorkers: peak(samples, 'count'),
  supervisorMb: Math.round(peak(samples, 'supervisor')),
  workerMb: Math.round(peak(samples, 'worker')),
  supervisorGrowth: Number(growth('supervisor').toFixed(2)),
  workerGrowth: Number(growth('worker').toFixed(2)),
  orphans: [...pids].filter(isAlive).length,
  exitCode: code,
};
const faults = [
  figures.completed === jobs || `${figures.completed} of ${jobs} jobs completed`,
  figures.differentJobs === jobs || `${figures.differentJobs} of ${jobs} jobs ran`,
  figures.runs === jobs || `${figures.runs} runs of ${jobs} jobs`,
  figures.buried + figures.open === 0 || `${figures.buried} buried, ${figures.open} open`,
  figures.crashes === 0 || `${figures.crashes} crashes`,
  figures.recycles > 0 || jobs < Number(options.recycle) || 'no worker has recycled',
  jobs < leastJobsForGrowth || figures.growths > 0 || 'the pool has not grown',
  jobs < leastJobsForGrowth ||
    figures.supervisorGrowth <= mostGrowth ||
    `the supervisor grew by ${figures.supervisorGrowth}`,
  jobs < leastJobsForGrowth ||
    figures.workerGrowth <= mostGrowth ||
    `workers grew by ${figures.workerGrowth}`,
  figures.orphans === 0 || `${figures.orphans} processes left behind`,
  figures.exitCode === 0 || `the pool ended with ${figures.exitCode}`,
].filter((fault) => fault !== true);
rmSync(folder, { recursive: true, force: true });
if (options.json) process.stdout.write(`${JSON.stringify({ ...figures, faults })}\n`);
else {
  for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name.padEnd(18)} ${value}\n`);
  process.stdout.write(faults.length === 0 ? 'all holds\n' : `${faults.join('\n')}\n`);
}
if (faults.length > 0) tell(stderr.split('\n').slice(-40).join('\n'));
process.exitCode = faults.length === 0 ? 0 : 1;
