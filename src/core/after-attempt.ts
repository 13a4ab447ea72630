import { type ResolvedBackoff, retryDelayMs } from './backoff.js';

/** What is to be known of a job to decide what becomes of it. */
export interface AttemptedJob {
  /** Charged attempts before this one. */
  readonly attempts: number;
  /** How many charged attempts it may have, at least 1. */
  readonly maxAttempts: number;
  readonly backoff: ResolvedBackoff;
}

/** How an attempt ended. */
export type AttemptOutcome =
  /** The handler returned. */
  | { readonly kind: 'value' }
  /** The handler threw; with `RetryAfter` it says when, with `NonRetriable` that it is for good. */
  | {
      readonly kind: 'failed';
      readonly retryAfterMs?: number | undefined;
      readonly nonRetriable?: boolean | undefined;
    }
  /** The time of the attempt was over. */
  | { readonly kind: 'timed-out' }
  /** The handler asked to be called again later. */
  | { readonly kind: 'snoozed'; readonly delayMs: number }
  /** Called off, by the handler itself or by an operator. */
  | { readonly kind: 'cancelled'; readonly reason?: string | undefined }
  /** Given back without a verdict: stop, drain, deferral. */
  | { readonly kind: 'put-back'; readonly delayMs?: number | undefined };

/** What the storage is to do. `charged`: whether the attempt counts against the maximum. */
export type AttemptDecision =
  | { readonly kind: 'completed'; readonly charged: false }
  | { readonly kind: 'retry'; readonly charged: true; readonly delayMs: number }
  | { readonly kind: 'buried'; readonly charged: true }
  | { readonly kind: 'snoozed'; readonly charged: false; readonly delayMs: number }
  | { readonly kind: 'cancelled'; readonly charged: false }
  | { readonly kind: 'put-back'; readonly charged: false; readonly delayMs: number };

/**
 * What becomes of a job after an attempt. Only a failure and a timeout are charged. A wait that
 * the handler names is taken as it is; else the backoff says it, by the number of charged attempts.
 */
export function decideAfterAttempt(
  job: AttemptedJob,
  outcome: AttemptOutcome,
  random: () => number,
): AttemptDecision {
  switch (outcome.kind) {
    case 'value':
      return { kind: 'completed', charged: false };
    case 'snoozed':
      return { kind: 'snoozed', charged: false, delayMs: atLeastZero(outcome.delayMs) };
    case 'cancelled':
      return { kind: 'cancelled', charged: false };
    case 'put-back':
      return { kind: 'put-back', charged: false, delayMs: atLeastZero(outcome.delayMs ?? 0) };
    case 'failed':
      if (outcome.nonRetriable === true) return { kind: 'buried', charged: true };
      return retryOrBury(job, outcome.retryAfterMs, random);
    case 'timed-out':
      return retryOrBury(job, undefined, random);
  }
}

function retryOrBury(
  job: AttemptedJob,
  retryAfterMs: number | undefined,
  random: () => number,
): AttemptDecision {
  const charged = job.attempts + 1;
  if (charged >= job.maxAttempts) return { kind: 'buried', charged: true };
  const delayMs = retryAfterMs ?? retryDelayMs(job.backoff, charged, random);
  return { kind: 'retry', charged: true, delayMs: atLeastZero(delayMs) };
}

function atLeastZero(ms: number): number {
  return Number.isFinite(ms) ? Math.max(Math.round(ms), 0) : 0;
}
