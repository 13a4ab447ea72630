/* Table of what goes through one hub. */
import { cell, count, table } from './format.mjs';

const tenth = (value) => value.toFixed(1);
const whole = (value) => value.toFixed(0);

export function hubTable(results, labels) {
  const engines = results.engines.filter((engine) => results.rows(engine, 'hub').length > 0);
  if (engines.length === 0) return '';
  const { hubJobs, hubWorkers, hubIdle, hubWindowMs } = results.conditions.sizes;
  const rows = engines.map((engine) => {
    const rate = (work, about) => cell(results.values(engine, work, about));
    const pickUp = (share) =>
      cell(
        results.values(engine, 'hub-latency', {}, (row) => row[share]),
        tenth,
      );
    const idle = (read, show) => cell(results.values(engine, 'hub-idle', {}, read), show);
    return [
      labels[engine],
      rate('hub-pair', {}),
      ...hubWorkers.map((processes) => rate('hub', { processes })),
      pickUp('p50'),
      pickUp('p99'),
      idle(({ cores }) => cores * 100, tenth),
      idle(({ rss }) => rss, whole),
      idle(({ backMs }) => backMs / 1_000, tenth),
      idle(({ lagMs }) => lagMs, whole),
    ];
  });
  const head = [
    'engine',
    'with the database, jobs/s',
    ...hubWorkers.map((workers) => `${workers} behind a hub`),
    'pick-up p50, ms',
    'p99',
    `hub with ${count(hubIdle)} idle, % of a core`,
    'its memory, MiB',
    'all back after its restart, s',
    'worst loop lag meanwhile, ms',
  ];
  return `## Behind a hub\n\nOne hub in a process of its own; a drain of ${count(hubJobs)} no-op jobs by workers of concurrency 10, each in its own process with nothing but the address of the hub, against one worker with the database; the time includes connecting to the hub. Pick-up as above, one process that dispatches and works behind the hub. Idle: ${count(hubIdle)} clients of the protocol in one other process that beat every 15 s and wait for work, for ${hubWindowMs / 1_000} s; then the hub stops and starts again, and they come back with jittered waits from 0.5 s up. All of it shares the cores.\n\n${table(head, rows)}`;
}
