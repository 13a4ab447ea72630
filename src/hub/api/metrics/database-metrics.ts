import type { Registry } from 'prom-client';
import type { Millrace } from '../../../client/millrace.js';
import { numbersOf, textsOf } from '../../../client/why-worker.js';
import type { WorkerListing } from '../../../client/worker-view.js';
import { laneSteps } from '../../../core/lane-steps.js';
import { withDeadline } from '../../../internal/deadline.js';
import { describeFailure } from '../../../internal/failure.js';
import type { Logger } from '../../../internal/logger.js';
import type { QueueStats } from '../../../storage/job-record.js';
import { addPlain, type PlainMetric, type Sample } from './plain-metric.js';
import { SharedReading } from './shared-reading.js';

interface Reading {
  readonly queues: readonly QueueStats[];
  readonly workers: readonly WorkerListing[];
}

/** Scrapes within this share one reading of the database. */
const sharedMs = 1_000;
const readMs = 5_000;

type FromDatabase = Omit<PlainMetric, 'read'> & { readonly read: (reading: Reading) => readonly Sample[] };

const perQueue =
  (value: (stats: QueueStats) => number) =>
  ({ queues }: Reading): Sample[] =>
    queues.map((stats) => ({ value: value(stats), labels: { queue: stats.queue } }));

const perStatus =
  (...statuses: readonly ('pending' | 'blocked' | 'processing' | 'completed' | 'buried' | 'cancelled')[]) =>
  ({ queues }: Reading): Sample[] =>
    queues.flatMap((stats) =>
      statuses.map((status) => ({ value: stats[status], labels: { queue: stats.queue, status } })),
    );

const alive = ({ workers }: Reading): WorkerListing[] => workers.filter((worker) => worker.alive);

/** A number by word that live workers tell of themselves, summed up. */
const perWord =
  (detail: string, words: readonly string[], label: string) =>
  (reading: Reading): Sample[] => {
    const told = alive(reading).map(({ details }) => numbersOf(details[detail]));
    return words.map((word) => ({
      value: told.reduce((total, numbers) => total + (numbers[word] ?? 0), 0),
      labels: { [label]: word },
    }));
  };

const metrics: readonly FromDatabase[] = [
  {
    name: 'millrace_jobs',
    help: 'Jobs that have not ended, by queue and status.',
    type: 'gauge',
    read: perStatus('pending', 'blocked', 'processing'),
  },
  {
    name: 'millrace_jobs_claimable',
    help: 'Jobs that are due and allowed to run, by queue.',
    type: 'gauge',
    read: perQueue(({ claimable }) => claimable),
  },
  {
    name: 'millrace_jobs_ended_total',
    help: 'Jobs that ended since the database was made, by queue and status.',
    type: 'counter',
    read: perStatus('completed', 'buried', 'cancelled'),
  },
  {
    name: 'millrace_queue_oldest_due_seconds',
    help: 'How long the oldest claimable job of a queue has been due; 0 where none is.',
    type: 'gauge',
    read: perQueue(({ oldestDueForMs }) => (oldestDueForMs ?? 0) / 1000),
  },
  {
    name: 'millrace_queue_paused',
    help: 'Whether a queue is paused.',
    type: 'gauge',
    read: perQueue(({ paused }) => (paused ? 1 : 0)),
  },
  {
    name: 'millrace_workers',
    help: 'Registered workers by status and link.',
    type: 'gauge',
    read: ({ workers }) =>
      (['active', 'drain', 'standby', 'stale', 'offline'] as const).flatMap((status) =>
        (['storage', 'hub'] as const).map((link) => ({
          value: workers.filter((worker) => worker.status === status && worker.link === link).length,
          labels: { status, link },
        })),
      ),
  },
  {
    name: 'millrace_lanes',
    help: 'Lanes of live workers by kind and state; the inline slots of a worker are one.',
    type: 'gauge',
    read: (reading) => {
      const counts = new Map<string, Sample & { value: number }>();
      for (const { kind, state } of alive(reading).flatMap(({ lanes }) => lanes)) {
        const sample = counts.get(`${kind} ${state}`) ?? { value: 0, labels: { kind, state } };
        counts.set(`${kind} ${state}`, { ...sample, value: sample.value + 1 });
      }
      return [...counts.values()];
    },
  },
  {
    name: 'millrace_slots',
    help: 'Jobs that live workers could run at once, and that they run, by kind of lane.',
    type: 'gauge',
    read: (reading) => {
      const lanes = alive(reading).flatMap((worker) => worker.lanes);
      return (['inline', 'process', 'browser'] as const).flatMap((kind) => {
        const own = lanes.filter((lane) => lane.kind === kind);
        const sum = (of: 'width' | 'running'): number => own.reduce((total, lane) => total + lane[of], 0);
        return [
          { value: sum('width'), labels: { kind, of: 'all' } },
          { value: sum('running'), labels: { kind, of: 'running' } },
        ];
      });
    },
  },
  {
    name: 'millrace_worker_loop_lag_seconds_max',
    help: 'The longest time that the main loop of a live worker stood still, of all of them.',
    type: 'gauge',
    read: (reading) => [
      { value: alive(reading).reduce((most, { usage }) => Math.max(most, usage.loopLagMs), 0) / 1000 },
    ],
  },
  {
    name: 'millrace_worker_outbox',
    help: 'Results that live workers have and storage has not acknowledged yet.',
    type: 'gauge',
    read: (reading) => [
      {
        value: alive(reading).reduce((total, { details }) => {
          const { unacknowledged: outbox } = details;
          return total + (typeof outbox === 'number' ? outbox : 0);
        }, 0),
      },
    ],
  },
  {
    name: 'millrace_worker_found_jobs',
    help: 'How live workers that had nothing to do found their jobs, each since its start; along: taken while at work.',
    type: 'gauge',
    read: perWord('found', ['push', 'due', 'poll', 'along'], 'by'),
  },
  {
    name: 'millrace_worker_denied_jobs',
    help: 'Jobs that live workers did not admit, each since its start, by reason.',
    type: 'gauge',
    read: perWord('denied', ['time', 'own-memory', 'system-memory'], 'reason'),
  },
  {
    name: 'millrace_worker_lane_steps',
    help: 'What live workers did about lanes that went wrong, each since its start, by step; replace: as planned.',
    type: 'gauge',
    read: perWord('laneSteps', laneSteps, 'step'),
  },
  {
    name: 'millrace_worker_alarms',
    help: 'Live workers with which something is wrong that they do not mend by themselves, by what it is.',
    type: 'gauge',
    read: (reading) =>
      ['slots-overrun', 'polls-alone', 'own-memory', 'disk-full'].map((alarm) => ({
        value: alive(reading).filter(({ details }) => Object.hasOwn(textsOf(details['alarms']), alarm))
          .length,
        labels: { alarm },
      })),
  },
];

/** What the database knows. While it can't be asked only `millrace_storage_up` is told, which is 0 then. */
export function addDatabaseMetrics(registry: Registry, client: Millrace, logger: Logger): void {
  const read = async (): Promise<Reading> => {
    const [queues, workers] = await Promise.all([client.stats(), client.workers()]);
    return { queues, workers };
  };
  const reading = new SharedReading(async () => {
    try {
      return await withDeadline(read(), { ms: readMs, name: 'reading the metrics' });
    } catch (error) {
      logger.warn('the metrics of the database could not be read', {
        error: describeFailure(error).message,
      });
      return null;
    }
  }, sharedMs);
  addPlain(registry, {
    name: 'millrace_storage_up',
    help: 'Whether the database answered when its metrics were read.',
    type: 'gauge',
    read: async () => [{ value: (await reading.get()) === null ? 0 : 1 }],
  });
  for (const metric of metrics) {
    addPlain(registry, {
      ...metric,
      read: async () => {
        const got = await reading.get();
        return got === null ? [] : metric.read(got);
      },
    });
  }
}
