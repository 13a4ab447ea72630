import { type WorkerHealth, workerHealth } from '../core/worker-status.js';
import { heartbeatIntervalMs, type SettingValues } from '../internal/settings.js';
import type { DrainReport, LaneReport, WorkerRecord, WorkerTransition } from '../storage/worker-record.js';

/** A registered worker. Times that it told itself are of its own clock, the others of the database's. */
export interface WorkerListing
  extends Omit<
      WorkerRecord,
      | 'startedAtMs'
      | 'heartbeatAtMs'
      | 'gone'
      | 'connectionEpoch'
      | 'transitions'
      | 'drain'
      | 'lanes'
      | 'details'
    >,
    WorkerHealth {
  /** When this incarnation registered. */
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  /** Since when it is in its lifecycle state; null where it has not told yet. */
  readonly stateSince: Date | null;
  /** The last changes of that state, oldest first, at most 10. */
  readonly transitions: readonly (Omit<WorkerTransition, 'atMs'> & { readonly at: Date })[];
  /** Why it takes no more jobs; null while it takes them. */
  readonly drain: (Omit<DrainReport, 'deadlineAtMs'> & { readonly deadlineAt: Date | null }) | null;
  /** The inline slots as one, and each lane that is a process. */
  readonly lanes: readonly WorkerLaneView[];
  /** Everything else worth showing, by name; may change with any version. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface WorkerLaneView extends Omit<LaneReport, 'jobs'> {
  /** What runs there, the longest running first, at most 10. */
  readonly jobs: readonly {
    readonly id: string;
    readonly name: string;
    readonly attempt: number;
    readonly startedAt: Date;
  }[];
}

export function toWorkerListing(record: WorkerRecord, settings: SettingValues): WorkerListing {
  const { startedAtMs, heartbeatAtMs, gone, connectionEpoch: _, transitions, drain, lanes, ...rest } = record;
  const heartbeatMs = heartbeatIntervalMs(settings);
  const since = transitions.at(-1)?.atMs;
  return {
    ...rest,
    ...workerHealth({ ...rest, gone }, { heartbeatMs, ttlMs: settings.workerTtlMs }),
    startedAt: new Date(startedAtMs),
    heartbeatAt: new Date(heartbeatAtMs),
    stateSince: since === undefined ? null : new Date(since),
    transitions: transitions.map(({ atMs, ...transition }) => ({ ...transition, at: new Date(atMs) })),
    drain: drain === null ? null : drainView(drain),
    lanes: lanes.map(laneView),
  };
}

function drainView({ deadlineAtMs, ...drain }: DrainReport): NonNullable<WorkerListing['drain']> {
  return { ...drain, deadlineAt: deadlineAtMs === null ? null : new Date(deadlineAtMs) };
}

function laneView({ jobs, ...lane }: LaneReport): WorkerLaneView {
  return {
    ...lane,
    jobs: jobs.map(({ startedAtMs, ...job }) => ({ ...job, startedAt: new Date(startedAtMs) })),
  };
}
