import type { Budgets, JobLimit } from './job-limit.js';

/**
 * A lease token: 32 hex characters, the first 16 of which are the incarnation of the worker that holds it, the rest
 * unique within that incarnation. One claim call uses one token for all that it takes.
 */
export type LeaseToken = string;

/** The incarnation (16 hex characters) that a token belongs to. */
export const incarnationOf = (token: LeaseToken): string => token.slice(0, 16);

export interface Lease {
  readonly id: string;
  readonly token: LeaseToken;
}

/** One part of a claim: jobs of these queues and names, for the free slots of one kind. */
export interface Take {
  /** Strict order: everything claimable of an earlier queue goes first. Paused queues are skipped by storage. */
  readonly queues: readonly string[];
  /** Handler names this worker knows. Jobs of other names are never returned and never hide those of these names. */
  readonly names: readonly string[];
  /** At most so many jobs, 1 … 1000. */
  readonly limit: number;
  /**
   * The first so many (in claim order) are marked started, since a slot is free for each; the rest will wait in the
   * worker's buffer. Only ordinary jobs of queues without a budget wait there: a take ends before another job that could
   * run but would not be started, so that a full buffer never lets later work past it.
   */
  readonly start: number;
}

export interface ClaimRequest {
  /** Fresh for each claim. A repeat of the same token (its first answer was lost) goes to the same storage object, returns what it took then, and takes no more. */
  readonly token: LeaseToken;
  readonly workerId: string;
  readonly leaseMs: number;
  /** 1 … 16, disjoint: no job fits two of them, in queue or in name. Answered in one transaction, one after the other. */
  readonly takes: readonly Take[];
  /** Labels of the worker. */
  readonly labels: readonly string[];
  readonly budgets: Budgets;
  /** `true`: take one job from those that must run alone, and none other. Otherwise those are left alone. Only with one take. */
  readonly alone: boolean;
}

/** What a peek asks for: the parts of a claim that say which jobs it could take. */
export type PeekRequest = Pick<ClaimRequest, 'takes' | 'labels' | 'budgets'>;

export interface ClaimedJob {
  readonly id: string;
  readonly token: LeaseToken;
  readonly name: string;
  readonly queue: string;
  readonly payload: string;
  readonly version: number;
  readonly priority: number;
  /** Failed attempts so far; the one that starts now is this plus one. */
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly deaths: number;
  /** Times a lease of this job lapsed before it was marked started; above 0 its start is marked before it runs. */
  readonly lapses: number;
  readonly started: boolean;
  /** JSON array of earlier failures (`AttemptFailure[]`), or null. */
  readonly errors: string | null;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly limit: JobLimit | null;
  readonly cost: number;
  readonly requires: readonly string[];
}

/** An operator's wish about a running job, carried out when its lease ends in anything but a completion. */
export type StopRequest = 'cancel' | 'bury' | 'delete';

export interface HeldLease extends Lease {
  readonly stopRequest: StopRequest | null;
}
