/*
 * The life of a job.
 *
 *                 block-release                claim                  complete
 *   blocked ───────────────────▶ pending ◀──────────────▶ processing ─────────▶ completed
 *                                   ▲    retry, snooze,       │ bury ─────────▶ buried
 *                                   │    put-back, recover    │ cancel ───────▶ cancelled
 *                                   └──────────── retry-again ┴──────────────────────┘
 *
 * Every storage guards its writes by this table: a transition is a compare-and-set on the status
 * (and, for a running job, on the lease token). "Illegal" is an answer to the caller, never a write.
 */

export const jobStatuses = Object.freeze([
  'pending',
  'blocked',
  'processing',
  'completed',
  'buried',
  'cancelled',
] as const);

/**
 * - `pending`: waits for its time, its turn or a slot
 * - `blocked`: waits for another job
 * - `processing`: runs under a lease
 * - `completed`: has ended well
 * - `buried`: out of attempts, failed for good or poison; kept for inspection and retry
 * - `cancelled`: called off
 */
export type JobStatus = (typeof jobStatuses)[number];

export const jobEvents = Object.freeze([
  'claim',
  'complete',
  'retry',
  'snooze',
  'put-back',
  'bury',
  'cancel',
  'block-release',
  'retry-again',
  'recover',
  'delete',
] as const);

/**
 * What can happen to a job. From a handler's attempt: `complete`, `retry`, `snooze`, `put-back`,
 * `bury`, `cancel`. From an expired lease: `recover`. From an operator: `retry-again`, `bury`,
 * `cancel`, `delete`. From a job it waited for: `block-release`, `bury`, `cancel`.
 */
export type JobEvent = (typeof jobEvents)[number];

/** `deleted`: the row is removed. `illegal`: nothing changes and the caller is told. */
export type NextStatus = JobStatus | 'deleted' | 'illegal';

const x = 'illegal';

/** Rows are statuses, columns events. A running job is deleted by cancelling it first. */
export const jobTransitions: Readonly<Record<JobStatus, Readonly<Record<JobEvent, NextStatus>>>> =
  Object.freeze({
    pending: row('processing', x, x, x, x, 'buried', 'cancelled', x, x, x, 'deleted'),
    blocked: row(x, x, x, x, x, 'buried', 'cancelled', 'pending', x, x, 'deleted'),
    processing: row(
      x,
      'completed',
      'pending',
      'pending',
      'pending',
      'buried',
      'cancelled',
      x,
      x,
      'pending',
      x,
    ),
    completed: row(x, x, x, x, x, x, x, x, 'pending', x, 'deleted'),
    buried: row(x, x, x, x, x, x, x, x, 'pending', x, 'deleted'),
    cancelled: row(x, x, x, x, x, x, x, x, 'pending', x, 'deleted'),
  });

function row(...next: readonly NextStatus[]): Readonly<Record<JobEvent, NextStatus>> {
  const entries = jobEvents.map((event, index) => [event, next[index] ?? x] as const);
  return Object.freeze(Object.fromEntries(entries) as Record<JobEvent, NextStatus>);
}

/** The status after an event, or `illegal`. */
export function nextStatus(status: JobStatus, event: JobEvent): NextStatus {
  return jobTransitions[status][event];
}

/** Whether a job of this status has ended; only an operator's retry brings it back. */
export function isFinal(status: JobStatus): status is 'completed' | 'buried' | 'cancelled' {
  return status === 'completed' || status === 'buried' || status === 'cancelled';
}

export function isJobStatus(value: unknown): value is JobStatus {
  return jobStatuses.includes(value as JobStatus);
}
