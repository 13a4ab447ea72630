/** What a hub answers, as the views that `Millrace` gives: texts of times become dates again. */
import type { AttemptFailure } from '../../internal/failure.js';
import type { WorkerShape } from '../../protocol/http/fleet-shapes.js';
import type { JobShape } from '../../protocol/http/job-answers.js';
import type { JobEnding } from '../../storage/job-record.js';
import type { JobFailure } from '../job-failure.js';
import type { Job, JobListing } from '../job-view.js';
import type { Jsonified } from '../jsonified.js';
import type { JobProgress } from '../progress-watcher.js';
import type { WorkerListing } from '../worker-view.js';

const dateOrNull = (text: string | null): Date | null => (text === null ? null : new Date(text));

export function listingOf(told: Jsonified<JobListing>): JobListing {
  return {
    ...told,
    createdAt: new Date(told.createdAt),
    dueAt: new Date(told.dueAt),
    claimedAt: dateOrNull(told.claimedAt),
    finishedAt: dateOrNull(told.finishedAt),
  };
}

export function jobOf(told: JobShape): Job {
  const { progress, failures, leaseUntil, ...rest } = told;
  return {
    ...rest,
    ...listingOf(told),
    result: told.result,
    progress: progress === null ? null : progressView(progress),
    failures: failures.map((failure) => ({ ...failure, at: new Date(failure.at) }) as JobFailure),
    leaseUntil: dateOrNull(leaseUntil),
  };
}

export function progressView({ done, total, note, at }: NonNullable<JobShape['progress']>): JobProgress {
  return { done, total, note, at: new Date(at) };
}

export function workerOf(told: WorkerShape): WorkerListing {
  const { drain } = told;
  return {
    ...told,
    startedAt: new Date(told.startedAt),
    heartbeatAt: new Date(told.heartbeatAt),
    stateSince: dateOrNull(told.stateSince),
    transitions: told.transitions.map((each) => ({ ...each, at: new Date(each.at) })),
    drain: drain === null ? null : { ...drain, deadlineAt: dateOrNull(drain.deadlineAt) },
    lanes: told.lanes.map((lane) => ({
      ...lane,
      jobs: lane.jobs.map((job) => ({ ...job, startedAt: new Date(job.startedAt) })),
    })),
  };
}

/** How a job ended, as storage would tell it. */
export function endingOf(told: {
  readonly id: string;
  readonly status: JobEnding['status'];
  readonly result?: unknown;
  readonly failures: readonly Jsonified<JobFailure>[];
  readonly reason: string | null;
}): JobEnding {
  const { id, status, result, failures, reason } = told;
  const kept = failures.map((failure) => ({ ...failure, at: Date.parse(failure.at) }) as AttemptFailure);
  return {
    id,
    status,
    reason,
    result: result === undefined ? null : JSON.stringify(result),
    errors: kept.length === 0 ? null : JSON.stringify(kept),
  };
}
