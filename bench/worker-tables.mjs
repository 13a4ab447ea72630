/* Tables of what workers cost before their first job and while there is none. */
import { cell, count, table } from './format.mjs';

const inMs = (value) => value.toFixed(0);
const tenth = (value) => value.toFixed(1);

export function startTable(results, labels) {
  const engines = results.engines.filter((engine) => results.rows(engine, 'start').length > 0);
  if (engines.length === 0) return '';
  const { starts } = results.conditions.sizes;
  const figure = (engine, kind, share) =>
    cell(
      results.values(engine, 'start', { kind }, (row) => row[share]),
      inMs,
    );
  const rows = engines.map((engine) => [
    labels[engine],
    ...['alone', 'supervised'].flatMap((kind) => [figure(engine, kind, 'p50'), figure(engine, kind, 'max')]),
  ]);
  const head = ['engine', '--no-supervisor, p50', 'slowest', 'supervisor, p50', 'slowest'];
  return `## Start to first job, ms\n\nFrom the spawn of a fresh \`millrace work\` to the start of the handler of a job that waits; ${starts} start${starts === 1 ? '' : 's'} a repetition, one after the other, the schema in place.\n\n${table(head, rows)}`;
}

export function idleTable(results, labels) {
  const engines = results.engines.filter((engine) => results.rows(engine, 'idle').length > 0);
  if (engines.length === 0) return '';
  const { idleWorkers, idleProcesses, idleHeartbeatMs, idleWindowMs } = results.conditions.sizes;
  const rows = engines.map((engine) => {
    const figure = (read) => cell(results.values(engine, 'idle', {}, read), tenth);
    const calls = (...names) => figure((row) => names.reduce((sum, name) => sum + (row.calls[name] ?? 0), 0));
    return [
      labels[engine],
      figure(({ cores }) => cores * 100),
      figure(({ callsPerSec }) => callsPerSec),
      calls('renew', 'heartbeat', 'now'),
      calls('held', 'orders'),
      calls('claim', 'peek'),
    ];
  });
  const head = [
    'engine',
    'CPU, % of a core',
    'calls/s',
    'of these heartbeats (renew, report, clock)',
    'control reads (leases, orders)',
    'looks for jobs',
  ];
  return `## Idle workers\n\n${count(idleWorkers)} Worker objects with nothing to do, in ${idleProcesses} processes, for ${idleWindowMs / 1_000} s at a heartbeat of ${idleHeartbeatMs / 1_000} s. The workers of a process share one storage, with their links on its main loop; as processes of their own each has a link thread and connections besides. On SQLite each commit to the file wakes all workers, and they look for jobs. All figures are of all workers together; the CPU is that of their processes, not of a server.\n\n${table(head, rows)}`;
}
