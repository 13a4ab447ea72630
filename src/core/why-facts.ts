import type { JobStatus } from './job-status.js';

/** Every reason there is, with what it means in general. */
export const reasonCodes = {
  'not-due': 'Its time has not come.',
  'failed-before': 'Earlier attempts failed; it waits for the next one.',
  'put-back': 'A worker took it and gave it back uncharged.',
  'payload-newer':
    'A worker with older code than its input took it and gave it back for one with newer code.',
  'not-admitted': 'There was not enough memory or time left where it was about to start.',
  'queue-paused': 'Its queue is paused.',
  'waits-for': 'It waits for another job to end.',
  'no-live-worker': 'No worker is alive.',
  'no-worker-for-name': 'No live worker has a handler of its name.',
  'no-worker-for-queue': 'No live worker serves its queue.',
  'no-worker-for-both': 'Some live workers have its handler and others serve its queue, but none does both.',
  'workers-not-taking': 'Every live worker that could run it is draining or on standby.',
  'no-lane': 'No live worker has a lane of the kind that it runs in.',
  'no-worker-for-labels': 'No live worker that could run it has the labels it asks for.',
  limited: 'As many jobs of its group (and key) run as may at once.',
  'over-budget': 'What runs uses up so much of the budget of its queue or group that it does not fit in.',
  'above-budget': 'It costs more than the whole budget of its queue or group.',
  'runs-alone': 'Workers died under it, so it runs with nothing beside it.',
  'waiting-behind': 'Other due jobs stand before it.',
  'slots-busy': 'It is the next, and every slot of the workers that could run it is busy.',
  'about-to-run': 'Nothing stands in its way.',
  running: 'A worker runs it.',
  taken: 'A worker has taken it and not yet said that it has started.',
  'stop-requested': 'An operator asked the worker that runs it to stop.',
  'lease-expired': 'The worker that ran it has not been heard of; the job is taken back when that is proven.',
  'attempts-exhausted': 'Every attempt failed.',
  'non-retriable': 'It failed for good: another attempt would fail the same way.',
  poison: 'It ended the process that ran it again and again, the last time with nothing beside it.',
  'buried-by-operator': 'An operator put it aside.',
  'parent-failed': 'A job it waited for did not complete.',
  'cancelled-by-operator': 'An operator called it off.',
  'cancelled-by-handler': 'Its own handler called it off.',
  completed: 'It is done.',
  skipped: 'It is done without having been run.',
} as const;

export type ReasonCode = keyof typeof reasonCodes;

export interface Reason {
  readonly code: ReasonCode;
  /** For people, without the name of the job. */
  readonly sentence: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** The next moment at which this can change by itself, by the database's clock; null where nobody can know. */
  readonly nextChangeAtMs: number | null;
}

/** A worker that is alive. */
export interface WhyWorker {
  readonly id: string;
  readonly queues: readonly string[];
  readonly handlers: readonly string[];
  readonly labels: readonly string[];
  readonly concurrency: number;
  readonly running: number;
  readonly isDraining: boolean;
  readonly isStandby: boolean;
  /** Names of handlers that wait for a lane of a kind of which this worker has none that is well, with the kind. */
  readonly withoutLane: Readonly<Record<string, string>>;
  /** What ails a lane, by its kind, where one is quarantined. */
  readonly laneAilments: Readonly<Record<string, string>>;
  /** Names of handlers that it does not start for now, with the reason in words. */
  readonly notAdmitted: Readonly<Record<string, string>>;
}

export interface WhyFailure {
  readonly attempt: number;
  readonly atMs: number;
  readonly message: string;
}

export interface WhyJob {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly status: JobStatus;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly deaths: number;
  readonly dueAtMs: number;
  readonly claimedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly workerId: string | null;
  readonly reason: string | null;
  readonly outcome: 'skipped' | null;
  readonly stopRequest: 'cancel' | 'bury' | 'delete' | null;
  readonly leaseUntilMs: number | null;
  readonly isStarted: boolean;
  readonly alone: boolean;
  readonly cost: number;
  /** Labels that a worker must have. */
  readonly requires: readonly string[];
  readonly lastFailure: WhyFailure | null;
}

/** The group and key that a job stands under. */
export interface WhyLimit {
  readonly group: string;
  readonly key: string | null;
  /** How many may run; infinite where the group is there for a budget. */
  readonly most: number;
  readonly running: number;
  /** Some of those that run. */
  readonly holders: readonly {
    readonly id: string;
    readonly workerId: string | null;
    readonly claimedAtMs: number | null;
  }[];
}

/** A budget that a job falls under, and what runs of it now. */
export interface WhyBudget {
  readonly of: 'queue' | 'group';
  readonly name: string;
  readonly budget: number;
  readonly running: number;
}

export interface WhyBounds {
  readonly limit: WhyLimit | null;
  readonly budgets: readonly WhyBudget[];
}

export interface WhyFacts {
  readonly nowMs: number;
  readonly job: WhyJob;
  readonly isQueuePaused: boolean;
  /** Empty unless it is pending. */
  readonly bounds: WhyBounds;
  /** Jobs it waits for; status null when one is gone. */
  readonly waitsFor: readonly { readonly id: string; readonly status: JobStatus | null }[];
  /** Those of the jobs it waited for that did not complete; empty unless it ended since one of them did not. */
  readonly failedParents: readonly { readonly id: string; readonly status: 'buried' | 'cancelled' }[];
  /** Due jobs before it in its queue, counted up to 10,000; null unless it is pending. */
  readonly ahead: number | null;
  /** Those that are alive. */
  readonly workers: readonly WhyWorker[];
  /** How long the worker that holds it has been silent; null when it is not known any more. */
  readonly holderSilentForMs: number | null;
  readonly progress: {
    readonly done: number;
    readonly total: number | null;
    readonly note: string | null;
  } | null;
  /** How long an ended job of this kind is kept; null: until it is purged by hand. */
  readonly keptForMs: number | null;
}
