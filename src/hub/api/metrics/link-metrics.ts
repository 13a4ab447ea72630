import type { Registry } from 'prom-client';
import type { CountByReason, HubMetrics } from '../../hub-metrics.js';
import { addPlain, histogramSamples, type PlainMetric, type Sample } from './plain-metric.js';

/** The plain counters of a hub, by the name they are told under. */
const counters: readonly (readonly [name: string, help: string, read: (metrics: HubMetrics) => number])[] = [
  ['placements', 'Claims for room that stood.', ({ placements }) => placements],
  [
    'empty_placements',
    'Claims for room that stood that brought nothing.',
    ({ emptyPlacements }) => emptyPlacements,
  ],
  ['assigned_jobs', 'Jobs given to workers.', ({ assignedJobs }) => assignedJobs],
  ['pushed_jobs', 'Jobs pushed into room that stood.', ({ pushedJobs }) => pushedJobs],
  ['swept_jobs', 'Pushed jobs that only the poll found.', ({ sweptJobs }) => sweptJobs],
  ['settled_jobs', 'Leases that workers settled.', ({ settledJobs }) => settledJobs],
  ['lost_leases', 'Settled leases that no longer held.', ({ lostLeases }) => lostLeases],
  ['connections', 'Workers that connected.', ({ connections }) => connections],
  ['reconnects', 'Workers that came back.', ({ reconnects }) => reconnects],
  [
    'refused_handshakes',
    'Connections refused in the handshake.',
    ({ refusedHandshakes }) => refusedHandshakes,
  ],
  ['refused_tokens', 'Workers whose token was refused.', ({ refusedTokens }) => refusedTokens],
  ['bad_messages', 'Messages that could not be read.', ({ badMessages }) => badMessages],
  ['dropped_log_lines', 'Lines of handlers that were dropped.', ({ droppedLogLines }) => droppedLogLines],
  ['failed_requests', 'Messages that could not be done.', ({ failedRequests }) => failedRequests],
  ['reaps', 'Registrations that the reaper forgot.', ({ reaps }) => reaps],
];

const byWord: readonly (readonly [
  name: string,
  label: string,
  help: string,
  read: (metrics: HubMetrics) => CountByReason,
])[] = [
  ['put_backs', 'reason', 'Jobs that came back unrun.', ({ putBacks }) => putBacks],
  ['closed_connections', 'code', 'Connections of workers that ended, by close code.', ({ closes }) => closes],
  ['alarms', 'invariant', 'Times an invariant did not hold.', ({ alarms }) => alarms],
];

/** What a hub counted of its link to workers, since it started. */
export function addLinkMetrics(registry: Registry, metrics: HubMetrics): void {
  for (const [name, help, read] of counters) {
    addPlain(
      registry,
      counter(name, help, () => [{ value: read(metrics) }]),
    );
  }
  for (const [name, label, help, read] of byWord) {
    const samples = (): Sample[] =>
      [...read(metrics).entries].map(([word, value]) => ({ value, labels: { [label]: word } }));
    addPlain(registry, counter(name, help, samples));
  }
  const both = (received: number, sent: number): Sample[] => [
    { value: received, labels: { direction: 'in' } },
    { value: sent, labels: { direction: 'out' } },
  ];
  addPlain(
    registry,
    counter('messages', 'Messages of the link.', () => both(metrics.messagesIn, metrics.messagesOut)),
  );
  addPlain(
    registry,
    counter('bytes', 'Bytes of the link.', () => both(metrics.bytesIn, metrics.bytesOut)),
  );
  for (const kind of ['claim', 'settle'] as const) {
    const name = `millrace_hub_${kind}_seconds`;
    const help = `How long storage took to ${kind}.`;
    const read = (): Sample[] => histogramSamples(name, metrics[`${kind}Ms`]);
    addPlain(registry, { name, help, type: 'histogram', read });
  }
}

function counter(name: string, help: string, read: () => readonly Sample[]): PlainMetric {
  return { name: `millrace_hub_${name}_total`, help, type: 'counter', read };
}
