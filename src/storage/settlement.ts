import type { Lease, StopRequest } from './claimed-job.js';
import type { NewJob } from './new-job.js';

/**
 * How a lease ends, as decided by the worker that holds it. Errors are the whole new `errors` text of the job.
 * A `delayMs` of 0 in `put-back` keeps the due time, so the job keeps its place; elsewhere it means due now.
 */
export type Settlement = Lease &
  (
    | { readonly kind: 'completed'; readonly result: string | null; readonly outcome?: 'skipped' }
    /** Charged: attempts + 1, due again after `delayMs`. */
    | { readonly kind: 'retry'; readonly delayMs: number; readonly errors: string }
    /** Charged: attempts + 1; with the reason `poison` deaths + 1 instead. */
    | { readonly kind: 'buried'; readonly reason: BuryReason; readonly errors: string }
    | { readonly kind: 'cancelled'; readonly reason: string | null }
    /** The handler asked for a later time. Not charged. */
    | { readonly kind: 'snoozed'; readonly delayMs: number }
    /** The worker could not run it. Not charged. `reason` is kept for `why`. */
    | { readonly kind: 'put-back'; readonly delayMs: number; readonly reason: string }
    /** Its lane died under it. Not charged: deaths + 1, due after `delayMs`; `alone`: from then on it runs only by a claim with `alone`. */
    | { readonly kind: 'died'; readonly delayMs: number; readonly alone: boolean; readonly errors: string }
  );

export type BuryReason = 'attempts-exhausted' | 'non-retriable' | 'poison' | 'operator' | 'parent-failed';

/**
 * - `done`: applied now, or a settlement had ended the job under this very token before.
 * - `lease-lost`: the token no longer holds the job; nothing was changed.
 * - `already-final`: the job is gone, or final and another hand ended it (another token, an operator, the rescuer); nothing was changed.
 */
export type SettleOutcome = 'done' | 'lease-lost' | 'already-final';

/** A lease past its end, as the rescuer sees it. */
export interface ExpiredLease extends Lease {
  readonly name: string;
  readonly queue: string;
  readonly workerId: string;
  readonly started: boolean;
  /** This lease came from a claim with `alone`. */
  readonly ranAlone: boolean;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly deaths: number;
  readonly lapses: number;
  readonly errors: string | null;
  readonly stopRequest: StopRequest | null;
  readonly leaseUntilMs: number;
  readonly expiredForMs: number;
}

/** What the rescuer decided about an expired lease; guarded by token and by the `leaseUntilMs` that it saw. */
export type TakeBack = Lease & { readonly leaseUntilMs: number } & TakeBackKind;

type TakeBackKind =
  /** It never started: lapses + 1, its due time kept. */
  | { readonly kind: 'lapsed' }
  /** It died: deaths + 1, due after `delayMs`; `alone` from then on it runs only by a claim with `alone`. */
  | { readonly kind: 'died'; readonly delayMs: number; readonly alone: boolean; readonly errors: string }
  /** Poison: deaths + 1, buried with reason `poison`. */
  | { readonly kind: 'poison'; readonly errors: string }
  /** Its stop request is carried out. */
  | { readonly kind: 'stopped' };

/** `renewed`: the lease was extended, settled or taken in the meantime; nothing was changed. */
export type TakeBackOutcome = 'done' | 'renewed';

/**
 * Answer to an operator about one job.
 * - `done`: it is so now. · `requested`: it runs; the stop request is recorded and its worker will see it.
 * - `already-final` / `not-found` / `not-allowed` (this status has no such transition, or is not the one that was asked for):
 *   nothing was changed.
 * - `duplicate`: a retry would need a unique key that another job holds.
 */
export type ControlOutcome =
  | 'done'
  | 'requested'
  | 'already-final'
  | 'not-found'
  | 'not-allowed'
  | 'duplicate';

/** What an operator changes of a job that waits. What is left out stays; unique and idempotency keys always do. */
export interface JobEdit {
  readonly payload?: string;
  /** Of the new payload; only with it. */
  readonly version?: number;
  readonly priority?: number;
  /** Only of pending jobs. What it was put back for is forgotten. */
  readonly due?: NewJob['due'];
  readonly queue?: string;
}

/** One change that an operator asks for. */
export type ControlChange =
  | { readonly kind: 'retry' | 'bury' | 'cancel' | 'delete' }
  | { readonly kind: 'edit'; readonly edit: JobEdit };
