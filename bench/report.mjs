#!/usr/bin/env node
/* Tables of a run. `node bench/report.mjs` writes bench/RESULTS.md anew from bench/results.jsonl. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cell, count, ms, ratio, table } from './format.mjs';
import { goalsOf } from './goals.mjs';
import { hubTable } from './hub-table.mjs';
import { peerReport } from './peer-report.mjs';
import { Peers } from './peers.mjs';
import { Results, rateAtStamp, rateToStamp } from './results.mjs';
import { readRows } from './rows.mjs';
import { idleTable, startTable } from './worker-tables.mjs';

const LABELS = {
  'sqlite-full': 'SQLite, synchronous=FULL (default)',
  'sqlite-normal': 'SQLite, synchronous=NORMAL',
  postgres: 'PostgreSQL',
  mysql: 'MariaDB',
};

/** Of the rows of one run, or of the newest of each kind. */
export function report(rows) {
  const peers = new Peers(rows.filter(({ run }) => run === 'peers'));
  const results = new Results(rows.filter(({ run }) => run !== 'peers'));
  const parts = results.conditions === undefined ? [] : engineParts(results, peers);
  return ['# What Millrace does in a second', ...parts, ...peerReport(peers)]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n');
}

function engineParts(results, peers) {
  return [
    conditions(results),
    goals(results, peers),
    rawLimits(results),
    dispatchTable(results),
    drainTable(results),
    latencyTable(results),
    lanesTable(results),
    limitsTable(results),
    startTable(results, LABELS),
    idleTable(results, LABELS),
    hubTable(results, LABELS),
    growthTable(results),
    memoryTable(results),
    checks(results),
  ];
}

function conditions(results) {
  const { machine, node, drivers, millrace, date, reps, quick, sizes } = results.conditions;
  const servers = results.engines.map((engine) => {
    const [row] = results.rows(engine, 'raw');
    return `- ${LABELS[engine]}: ${row === undefined ? 'raw limits not measured in this run' : `${row.version}; ${row.durability}`}`;
  });
  return [
    'Written by `npm run bench -- --save`; not edited by hand. Figures are medians of the repetitions, in brackets from where to where they went.',
    ...(quick ? ['', '**A quick run: it shows that the benchmark works and says nothing of speed.**'] : []),
    '',
    `- Millrace ${millrace}, ${date}, ${reps} repetition${reps === 1 ? '' : 's'}, ${results.minutes?.toFixed(0) ?? '?'} minutes`,
    `- Machine: ${machine}; Node ${node}; ${drivers}`,
    ...servers,
    ...results.missing.map(({ engine, why }) => `- ${LABELS[engine]}: not run (${why})`),
    '',
    'Servers, workers and the benchmark share the cores. Durability is each server’s default; finished jobs are kept. Payload: about 85 bytes of JSON; the handler is an async function that counts. Every measurement has its own process (two where it says so) and an empty database; before each the benchmark waits, within bounds, for the rest of the machine to be quiet, and a repetition during which others took more than 0.25 of a core is left out wherever a quiet one exists; where none does, the figure has a star and says little. A drain is timed from just before the worker starts (connected, schema in place) until the last result is acknowledged.',
    `Jobs: ${count(sizes.n)} a drain and a bulk dispatch, ${count(sizes.inFlight)} with 50 in flight.`,
  ].join('\n');
}

function goals(results, peers) {
  const rows = goalsOf(results, peers).flatMap(({ title, goals: list }) =>
    list.map(({ name, asked, reached, met }) => [
      title,
      name,
      asked,
      reached ?? 'not measured',
      met === null ? '–' : met ? 'yes' : '**no**',
    ]),
  );
  const source = peers.isEmpty
    ? 'Ratios to peers were not measured for this report.'
    : 'Ratios to peers are of a run of its own, ours and theirs taking turns (see Beside other queues).';
  return `## Goals\n\n${source}\n\n${table(['engine', 'goal', 'asked', 'reached', 'met'], rows)}`;
}

function rawLimits(results) {
  const rows = results.engines.flatMap((engine) => {
    const limits = Object.keys(results.rows(engine, 'raw')[0]?.limits ?? {});
    return limits.map((limit) => [LABELS[engine], limit, cell(results.raw(engine, limit))]);
  });
  if (rows.length === 0) return '';
  return `## Raw limits, jobs/s\n\nThe driver alone with the least SQL that a queue could do: one table, one index for the claim, finished rows deleted, one process.\n\n${table(['engine', 'statement', 'rows/s'], rows)}`;
}

function dispatchTable(results) {
  const rows = results.engines.map((engine) => [
    LABELS[engine],
    ...['one-by-one', 'in-flight', 'bulk'].map((work) => cell(results.values(engine, work))),
  ]);
  return `## Dispatch, jobs/s\n\n${table(['engine', 'one by one, awaited', '50 in flight', `dispatchMany ${count(results.conditions.sizes.n)}`], rows)}`;
}

function drainTable(results) {
  const of = (engine, concurrency, processes) => results.values(engine, 'drain', { concurrency, processes });
  const started = (engine) =>
    results.values(engine, 'drain', { concurrency: 10, processes: 1 }, ({ startMs }) => startMs);
  const rows = results.engines.map((engine) => [
    LABELS[engine],
    cell(of(engine, 1, 1)),
    cell(of(engine, 10, 1)),
    cell(of(engine, 100, 1)),
    cell(of(engine, 10, 2)),
    cell(started(engine), ms),
  ]);
  return `## Drain, jobs/s\n\n${table(['engine', 'c = 1', 'c = 10', 'c = 100', 'two processes, c = 10 each', 'of that, start to first handler (c = 10)'], rows)}`;
}

function latencyTable(results) {
  const rows = results.engines.flatMap((engine) =>
    [1, 2].map((processes) => [
      LABELS[engine],
      processes === 1 ? 'one process' : 'two processes',
      ...['p50', 'p95', 'p99', 'max'].map((share) =>
        cell(
          results.values(engine, 'latency', { processes }, (row) => row[share]),
          (value) => value.toFixed(2),
        ),
      ),
    ]),
  );
  return `## Pick-up latency on an idle queue, ms\n\nFrom just before the dispatch to the start of the handler; one job every ${results.conditions.sizes.latencyGapMs} ± 5 ms.\n\n${table(['engine', '', 'p50', 'p95', 'p99', 'max'], rows)}`;
}

function lanesTable(results) {
  const engines = results.engines.filter((engine) => results.rows(engine, 'lanes').length > 0);
  if (engines.length === 0) return '';
  const figure = (engine, kind, lanes, read) => results.values(engine, 'lanes', { kind, lanes }, read);
  const rate = ({ perSec }) => perSec;
  const trip = (share) => (row) => row[share];
  const inMs = (value) => value.toFixed(2);
  const rows = engines.map((engine) => [
    LABELS[engine],
    cell(figure(engine, 'process', 1, trip('p50')), inMs),
    cell(figure(engine, 'process', 1, trip('p95')), inMs),
    cell(figure(engine, 'process', 1, rate)),
    cell(figure(engine, 'process', 2, rate)),
    cell(figure(engine, 'inline', 2, rate)),
  ]);
  return `## Process lanes\n\nJobs that do nothing, on a warm worker. A round trip is an attempt from its start to its end: to the child and back. Jobs of lanes are claimed one by one, those of inline slots in batches.\n\n${table(['engine', 'round trip p50, ms', 'p95, ms', 'one lane, jobs/s', 'two lanes, jobs/s', 'two inline slots, jobs/s'], rows)}`;
}

function limitsTable(results) {
  const engines = results.engines.filter((engine) => results.rows(engine, 'limits').length > 0);
  if (engines.length === 0) return '';
  const { limitHead } = results.conditions.sizes;
  const kinds = ['none', 'groups', 'keys', 'budgets', 'saturated'];
  const rows = engines.map((engine) => [
    LABELS[engine],
    ...kinds.map((kind) => cell(results.values(engine, 'limits', { kind }))),
  ]);
  return `## Limits, jobs/s\n\nJobs that do nothing, 100 slots: without bounds; in ten groups with room; in one group of 1,000 keys; costs under a budget of the queue; and without bounds behind ${count(limitHead)} jobs of a group that is full.\n\n${table(['engine', 'none', 'ten groups', '1,000 keys', 'budget', 'behind a full group'], rows)}`;
}

function growthTable(results) {
  const { n, backlog, million } = results.conditions.sizes;
  const rate = ({ perSec }) => perSec;
  const rows = results.engines.map((engine) => [
    LABELS[engine],
    cell(results.values(engine, 'backlog', {}, (row) => rateToStamp(row, 0))),
    cell(results.pairs(engine, ['backlog', (row) => rateToStamp(row, 0)], ['backlog-pair', rate]), ratio),
    cell(results.values(engine, 'kept', {})),
    cell(results.pairs(engine, ['kept', rate], ['kept-pair', rate]), ratio),
    cell(results.values(engine, 'million', {}, (row) => rateAtStamp(row, 0))),
    cell(results.values(engine, 'million', {}, (row) => rateAtStamp(row, 9))),
  ]);
  const head = [
    'engine',
    `first ${count(n)} of ${count(backlog)} just loaded`,
    'ratio to a plain drain beside it',
    `${count(n)} with ${count(million)} finished kept`,
    'ratio to a plain drain beside it',
    `${count(million)} in one go: first tenth`,
    'last tenth',
  ];
  return `## Growth, jobs/s at c = 10\n\nNo ANALYZE by hand.\n\n${table(head, rows)}`;
}

function memoryTable(results) {
  const whole = (value) => value.toFixed(0);
  const of = (engine, read) => cell(results.values(engine, 'backlog', {}, read), whole);
  const rows = results.engines.map((engine) => [
    LABELS[engine],
    of(engine, ({ memory }) => memory.before),
    of(engine, ({ stamps }) => stamps[Math.ceil(stamps.length / 2) - 1].rss),
    of(engine, ({ stamps }) => stamps.at(-1).rss),
    of(engine, ({ memory }) => memory.afterGc),
    of(engine, ({ memory }) => memory.peak),
    cell(
      results.values(engine, 'backlog', {}, ({ cpuS, jobs }) => (cpuS / jobs) * 1e6),
      (value) => value.toFixed(1),
    ),
  ]);
  const head = [
    'engine',
    'before',
    'at half',
    'at the end',
    'after a collection',
    'peak',
    'CPU of the worker, µs a job',
  ];
  return `## Memory of a worker, MiB resident\n\nDrain of ${count(results.conditions.sizes.backlog)} at c = 10.\n\n${table(head, rows)}`;
}

function checks(results) {
  const { drains, failed } = results;
  const jobs = drains.reduce((sum, { jobs: handled }) => sum + handled, 0);
  const lines = [
    `## Counts\n\n${count(drains.length)} drains of ${count(jobs)} jobs: each job counted by its number in the handlers and in the database.`,
    failed.length === 0
      ? 'None was missing, none handled twice, none left over.'
      : failed
          .map(({ engine, work, problems }) => `- **failed**: ${engine} ${work}: ${problems.join('; ')}`)
          .join('\n'),
  ];
  return lines.join(' ');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('./RESULTS.md', import.meta.url), report(readRows()));
}
