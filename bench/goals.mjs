/* The goals that the project set itself, each with what was reached. `met` is null where it was not measured. */
import { count, ms, ratio } from './format.mjs';
import { rateAtStamp, rateToStamp } from './results.mjs';

/** `found` is a number, or a spread of which the median counts. */
function judge({ name, asked, found, show, isMet }) {
  const value = typeof found === 'number' || found === null || found === undefined ? found : found.median;
  const isMissing = value === null || value === undefined || Number.isNaN(value);
  return {
    name,
    asked,
    reached: isMissing ? null : `${show(value)}${found.isNoisy ? '*' : ''}`,
    met: isMissing ? null : isMet(value),
  };
}

const atLeast = (name, goal, found, show = count) =>
  judge({ name, asked: `≥ ${show(goal)}`, found, show, isMet: (value) => value >= goal });

const atMost = (name, goal, found, show) =>
  judge({ name, asked: `≤ ${show(goal)}`, found, show, isMet: (value) => value <= goal });

export function goalsOf(results, peers) {
  return [
    { title: 'PostgreSQL', goals: postgresGoals(results, peers) },
    { title: 'SQLite', goals: sqliteGoals(results, peers) },
    { title: 'MariaDB', goals: mysqlGoals(results) },
    { title: 'Limits', goals: results.engines.flatMap((engine) => limitGoals(results, engine)) },
    { title: 'Hub', goals: results.engines.flatMap((engine) => hubGoals(results, engine)) },
    { title: 'Memory of a worker', goals: results.engines.flatMap((engine) => memoryGoals(results, engine)) },
  ];
}

function postgresGoals(results, peers) {
  const engine = 'postgres';
  const rate = (work, about) => results.values(engine, work, about);
  return [
    peerGoal(
      'drain, concurrency 10, against the best peer',
      1.2,
      peers.against(engine, 'drain', { concurrency: 10, processes: 1 }),
    ),
    peerGoal(
      'drain, concurrency 100, against the best peer',
      1.2,
      peers.against(engine, 'drain', { concurrency: 100, processes: 1 }),
    ),
    peerGoal(
      'drain, concurrency 1, against the best peer',
      1.1,
      peers.against(engine, 'drain', { concurrency: 1, processes: 1 }),
    ),
    peerGoal(
      'drain, two processes, against the best peer',
      1.1,
      peers.against(engine, 'drain', { concurrency: 10, processes: 2 }),
    ),
    ...growthGoals(results, engine),
    millionGoal(results, engine),
    ...oneByOneGoal(results, engine),
    peerGoal('dispatch one by one, against the best peer', 1.5, peers.against(engine, 'one-by-one')),
    atLeast('dispatch, 50 in flight, jobs/s', 30_000, rate('in-flight')),
    peerGoal('bulk dispatch, against the best peer', 1.5, peers.against(engine, 'bulk')),
    ...pickUpGoals(results, engine, [1, 2], [2.5, 8]),
  ];
}

function sqliteGoals(results, peers) {
  const normal = 'sqlite-normal';
  const full = 'sqlite-full';
  const limit = results.raw(full, 'claim 100, delete 100');
  const drained = results.values(full, 'drain', { concurrency: 10, processes: 1 });
  const share = quotient(drained, limit);
  return [
    peerGoal(
      'NORMAL: drain, concurrency 10, against plainjob',
      4,
      peers.against(normal, 'drain', { concurrency: 10, processes: 1 }),
    ),
    atLeast('FULL: drain, concurrency 10, of the raw claim 100 + delete 100', 0.4, share, ratio),
    peerGoal(
      'NORMAL: bulk dispatch, against plainjob (level: within 5 %)',
      0.95,
      peers.against(normal, 'bulk'),
    ),
    peerGoal('NORMAL: dispatch one by one, against plainjob', 0.75, peers.against(normal, 'one-by-one')),
    atLeast('NORMAL: dispatch, 50 in flight, jobs/s', 120_000, results.values(normal, 'in-flight')),
    ...[normal, full].flatMap((engine) => [
      pickUpGoal(results, engine, { processes: 1, share: 'p50', most: 1 }),
      pickUpGoal(results, engine, { processes: 2, share: 'p50', most: 2.5 }),
    ]),
  ];
}

function limitGoals(results, engine) {
  const share = (kind) =>
    quotient(results.values(engine, 'limits', { kind }), results.values(engine, 'limits', { kind: 'none' }));
  return [
    ['ten groups with room', 'groups', 0.4],
    ['1,000 keys', 'keys', 0.4],
    ['a budget', 'budgets', 0.4],
    ['behind a full group', 'saturated', 0.85],
  ].map(([what, kind, goal]) => atLeast(`${engine}: drain, ${what}, against none`, goal, share(kind), ratio));
}

function hubGoals(results, engine) {
  const share = results.pairs(
    engine,
    ['hub', ({ perSec, processes }) => (processes === 1 ? perSec : Number.NaN)],
    ['hub-pair', ({ perSec }) => perSec],
  );
  const pickUp = (part) => results.values(engine, 'hub-latency', {}, (row) => row[part]);
  const idle = (read) => results.values(engine, 'hub-idle', {}, read);
  const percent = (value) => `${value.toFixed(1)} %`;
  const mebibytes = (value) => `${value.toFixed(0)} MiB`;
  return [
    atLeast(`${engine}: drain by one worker, against one with the database`, 0.5, share, ratio),
    atMost(`${engine}: pick-up p50`, 5, pickUp('p50'), ms),
    atMost(`${engine}: pick-up p99`, 25, pickUp('p99'), ms),
    atMost(
      `${engine}: 500 idle workers, of a core`,
      10,
      idle(({ cores }) => cores * 100),
      percent,
    ),
    atMost(
      `${engine}: memory with them`,
      250,
      idle(({ rss }) => rss),
      mebibytes,
    ),
    atMost(
      `${engine}: all 500 back after a restart`,
      30_000,
      idle(({ backMs }) => backMs),
      ms,
    ),
    atMost(
      `${engine}: loop lag meanwhile`,
      200,
      idle(({ lagMs }) => lagMs),
      ms,
    ),
  ];
}

function mysqlGoals(results) {
  const engine = 'mysql';
  return [
    atLeast(
      'drain, concurrency 10, jobs/s',
      25_000,
      results.values(engine, 'drain', { concurrency: 10, processes: 1 }),
    ),
    ...growthGoals(results, engine),
    ...oneByOneGoal(results, engine),
    atLeast('dispatch, 50 in flight, jobs/s', 25_000, results.values(engine, 'in-flight')),
  ];
}

function peerGoal(name, goal, compared) {
  if (compared === null || compared === undefined) return atLeast(name, goal, null, ratio);
  const row = atLeast(name, goal, compared.ratio, ratio);
  return {
    ...row,
    reached: `${row.reached} (${count(compared.ours.median)} : ${count(compared.best.median)} ${compared.title})`,
  };
}

function quotient(above, below) {
  if (above === null || below === null) return null;
  return { median: above.median / below.median, isNoisy: above.isNoisy || below.isNoisy };
}

/** The stamp at 20,000 of the backlog against a whole drain of 20,000: both from the start of the worker. */
function growthGoals(results, engine) {
  const first = results.pairs(
    engine,
    ['backlog', (row) => rateToStamp(row, 0)],
    ['backlog-pair', ({ perSec }) => perSec],
  );
  const kept = results.pairs(engine, ['kept', ({ perSec }) => perSec], ['kept-pair', ({ perSec }) => perSec]);
  return [
    atLeast('first jobs of a backlog just loaded, against a plain drain', 0.9, first, ratio),
    atLeast('drain with a million finished rows kept, against a plain drain', 0.9, kept, ratio),
  ];
}

function millionGoal(results, engine) {
  const [row] = results.rows(engine, 'million');
  const change = row === undefined ? null : rateAtStamp(row, 9) / rateAtStamp(row, 0);
  return atLeast('a million in one go: last tenth against the first', 0.9, change, ratio);
}

function oneByOneGoal(results, engine) {
  const change = results.pairs(
    engine,
    ['one-by-one', ({ perSec }) => perSec],
    ['raw', ({ limits }) => limits['insert, 1 row']],
  );
  return [atLeast('dispatch one by one, of the raw insert', 0.75, change, ratio)];
}

function pickUpGoals(results, engine, processes, [p50, p99]) {
  return processes.flatMap((number) => [
    pickUpGoal(results, engine, { processes: number, share: 'p50', most: p50 }),
    pickUpGoal(results, engine, { processes: number, share: 'p99', most: p99 }),
  ]);
}

function pickUpGoal(results, engine, { processes, share, most }) {
  const value = results.values(engine, 'latency', { processes }, (row) => row[share]);
  const where = processes === 1 ? 'one process' : 'two processes';
  const prefix = engine.startsWith('sqlite') ? `${engine.slice(7).toUpperCase()}: ` : '';
  return atMost(`${prefix}pick-up ${share}, ${where}`, most, value, ms);
}

const mostMemory = 120;
/** Between the middle and the end of a drain; more is growth, less is the collector's breath. */
const mostGrowth = 1.1;

function memoryGoals(results, engine) {
  const rows = results.rows(engine, 'backlog');
  const at = (share) => rows.map(({ stamps }) => stamps[Math.ceil(stamps.length * share) - 1].rss);
  const middle = rows.length === 0 ? null : Math.max(...at(0.5));
  const end = rows.length === 0 ? null : Math.max(...at(1));
  const mebibytes = (value) => `${value.toFixed(0)} MiB`;
  return [
    atMost(`${engine}: resident after the backlog (worst run)`, mostMemory, end, mebibytes),
    atMost(
      `${engine}: the same against its half (flat)`,
      mostGrowth,
      end === null ? null : end / middle,
      ratio,
    ),
  ];
}
