#!/usr/bin/env node
/* npm run bench: see --help. Rows go to the report; a failed count or measurement makes the exit code 1. */
import { writeFileSync } from 'node:fs';
import { Bench } from './bench.mjs';
import { reportBrowser } from './browser/report.mjs';
import { openEngines } from './engines.mjs';
import { describeMachine } from './machine.mjs';
import { HELP, parseOptions } from './options.mjs';
import { queueOf } from './peers/catalog.mjs';
import { runPeers } from './peers/run.mjs';
import { report } from './report.mjs';
import { mergeRuns, readRows, writeRows } from './rows.mjs';
import { million, RUNS } from './works.mjs';

const reportFile = new URL('./RESULTS.md', import.meta.url);

let options;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error.message}\n\n${HELP}\n`);
  process.exit(2);
}
if (options.help) {
  process.stdout.write(`${HELP}\n`);
  process.exit(0);
}

const rows = [];
const startedMs = performance.now();
const emit = (row) => {
  rows.push(row);
  if (options.json) process.stdout.write(`${JSON.stringify(row)}\n`);
  else process.stderr.write(`${lineOf(row)}\n`);
};

const run = runName(options);
emit({
  ...run,
  work: 'conditions',
  ...describeMachine(),
  quick: options.isQuick,
  reps: options.reps,
  sizes: options.sizes,
});
try {
  if (options.isBrowser) {
    // Its parts are of the built package, and of packages that other runs do not need.
    const { runBrowser } = await import('./browser/run.mjs');
    await runBrowser({ options, emit, tell: (line) => process.stderr.write(`${line}\n`) });
  } else if (options.isPeers) {
    await runPeers({ options, emit, tell: (line) => process.stderr.write(`${line}\n`) });
  } else await runEngines();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
emit({ ...run, work: 'end', minutes: (performance.now() - startedMs) / 60_000 });

if (options.isBrowser) {
  const text = reportBrowser(rows);
  if (options.save) {
    writeFileSync(new URL('./browser/RESULTS.md', import.meta.url), text);
  } else if (!options.json) process.stdout.write(text);
} else if (options.save) {
  const saved = mergeRuns(readRows(), rows);
  writeRows(saved);
  writeFileSync(reportFile, report(saved));
} else if (!options.json) process.stdout.write(report(rows));

// Another queue that fails is told of in its row; it isn't a fault of ours.
const failed = rows.filter(
  ({ queue, crawler, problems }) =>
    problems?.length > 0 && !isPeer(queue) && (crawler ?? 'millrace') === 'millrace',
);
for (const row of failed) process.stderr.write(`FAILED ${lineOf(row)}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;

function runName({ isPeers, isBrowser }) {
  if (isBrowser) return { run: 'browser' };
  return isPeers ? { run: 'peers' } : {};
}

async function runEngines() {
  const engines = await openEngines(options.engines);
  try {
    for (const [engine, why] of engines.missing) emit({ engine, work: 'missing', why });
    await runAll(
      [...engines.targets].map(
        ([engine, target]) => new Bench({ engine, target, gateMs: options.gateMs, emit }),
      ),
    );
  } finally {
    await engines.close();
  }
}

function isPeer(name) {
  return name !== undefined && !queueOf(name).isOurs;
}

/** By repetition first: what is compared is then measured within minutes of each other. */
async function runAll(benches) {
  const { reps, works, sizes } = options;
  for (let rep = 1; rep <= reps; rep += 1) {
    for (const bench of benches) {
      for (const work of works) await RUNS[work]?.(bench, sizes, rep);
    }
  }
  if (!works.includes('million')) return;
  for (const bench of benches) await million(bench, sizes, reps);
}

function lineOfBrowser({
  work,
  crawler,
  kind,
  width,
  rep,
  perMinute,
  p50,
  p95,
  afterMb,
  chrome,
  problems = [],
}) {
  const parts = [work.padEnd(14)];
  if (chrome !== undefined) parts.push(chrome);
  if (crawler !== undefined) parts.push(crawler.padEnd(18), kind, `×${width}`, `#${rep}`);
  if (perMinute !== undefined) parts.push(`${perMinute.toFixed(0)} pages a minute`);
  if (p50 !== undefined) parts.push(`p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`);
  if (afterMb !== undefined) parts.push(`${afterMb.toFixed(0)} MB`);
  return [...parts, ...problems].join(' ');
}

function lineOf(row) {
  return row.run === 'browser' ? lineOfBrowser(row) : lineOfQueue(row);
}

function lineOfQueue({
  queue,
  engine = '',
  work,
  rep,
  concurrency,
  processes,
  perSec,
  p50,
  p95,
  p99,
  max,
  kind,
  lanes,
  cores,
  callsPerSec,
  backMs,
  limits,
  others,
  problems = [],
  memory,
  missing,
  skipped,
}) {
  const parts = [
    queue === undefined ? engine.padEnd(13) : queue.padEnd(22),
    work.padEnd(12),
    rep === undefined ? '' : `#${rep}`,
  ];
  if (kind !== undefined) parts.push(lanes === undefined ? kind : `${kind} ×${lanes}`);
  if (concurrency !== undefined) parts.push(`c=${concurrency}${processes === 2 ? ' ×2' : ''}`);
  if (perSec !== undefined) parts.push(`${Math.round(perSec).toLocaleString('en-US')}/s`);
  const [name, high] = Object.entries({ p99, p95, max }).find(([, value]) => value !== undefined) ?? [];
  if (p50 !== undefined) parts.push(`p50 ${p50.toFixed(2)} ms, ${name} ${high.toFixed(2)} ms`);
  if (cores !== undefined) parts.push(`${(cores * 100).toFixed(1)} % of a core`);
  if (callsPerSec !== undefined) parts.push(`${callsPerSec.toFixed(1)} calls/s`);
  if (backMs !== undefined) parts.push(`all back in ${(backMs / 1_000).toFixed(1)} s`);
  for (const [limit, value] of Object.entries(limits ?? {})) parts.push(`${limit} ${Math.round(value)};`);
  if (memory !== undefined) parts.push(`${memory.after.toFixed(0)} MiB`);
  if (others > 0.25) parts.push(`(others used ${others} cores)`);
  if (missing !== undefined) parts.push(`not measured: ${missing}`);
  if (skipped !== undefined) parts.push(`left out: ${skipped}`);
  return [...parts, ...problems].join(' ');
}
