#!/usr/bin/env node
/* npm run bench: see --help. Rows go to the report; a failed count or measurement makes the exit code 1. */
import { writeFileSync } from 'node:fs';
import { Bench } from './bench.mjs';
import { openEngines } from './engines.mjs';
import { describeMachine } from './machine.mjs';
import { HELP, parseOptions } from './options.mjs';
import { readPeers, report } from './report.mjs';
import { million, RUNS } from './works.mjs';

const resultsFile = new URL('./results.jsonl', import.meta.url);
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

emit({
  work: 'conditions',
  ...describeMachine(),
  quick: options.isQuick,
  reps: options.reps,
  sizes: options.sizes,
});
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
emit({ work: 'end', minutes: (performance.now() - startedMs) / 60_000 });

if (options.save) {
  writeFileSync(resultsFile, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
  writeFileSync(reportFile, report(rows, readPeers()));
} else if (!options.json) process.stdout.write(report(rows, readPeers()));

const failed = rows.filter(({ problems }) => problems?.length > 0);
for (const row of failed) process.stderr.write(`FAILED ${lineOf(row)}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;

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

function lineOf({
  engine = '',
  work,
  rep,
  concurrency,
  processes,
  perSec,
  p50,
  p99,
  limits,
  others,
  problems = [],
  memory,
}) {
  const parts = [engine.padEnd(13), work.padEnd(12), rep === undefined ? '' : `#${rep}`];
  if (concurrency !== undefined) parts.push(`c=${concurrency}${processes === 2 ? ' ×2' : ''}`);
  if (perSec !== undefined) parts.push(`${Math.round(perSec).toLocaleString('en-US')}/s`);
  if (p50 !== undefined) parts.push(`p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
  for (const [name, value] of Object.entries(limits ?? {})) parts.push(`${name} ${Math.round(value)};`);
  if (memory !== undefined) parts.push(`${memory.after.toFixed(0)} MiB`);
  if (others > 0.25) parts.push(`(others used ${others} cores)`);
  return [...parts, ...problems].join(' ');
}
