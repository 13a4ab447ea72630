import type { PoolSize } from '../../core/pool-size.js';
import type { QueueSelection } from '../../internal/queue-selection.js';

/** What crosses between a supervisor and its worker processes, over Node's own channel: plain data only. */

/** How a member of a pool knows that it is one; the supervisor gives it to each process that it starts. */
export const poolEnv = '_MILLRACE_POOL';

/** The value of `poolEnv`, as JSON. */
export interface PoolPlace {
  /** The process id of the supervisor. */
  readonly supervisor: number;
  /** From 1. */
  readonly slot: number;
  /** Where a member that must kill itself leaves its reason. */
  readonly lastWordsFile: string;
}

/** What only a process that has loaded the config knows; the first message of a member. */
export interface PoolSetup {
  readonly size: PoolSize;
  /** The address of the database, with its secrets: the channel is private to the two. */
  readonly database: string;
  /** The database is not for this pool: its workers get their jobs from a hub. */
  readonly isBehindHub: boolean;
  readonly queues: QueueSelection;
  readonly handlers: readonly string[];
  /** Slots of one worker before it has planned its lanes. */
  readonly lanesPerWorker: number;
  /** How long a member may take from TERM to its end. */
  readonly stopWithinMs: number;
  readonly scaleIntervalMs: number;
  readonly idleGraceMs: number;
  readonly headroomBytes: number;
  readonly databaseTimeoutMs: number;
}

export interface PoolMemberStatus {
  readonly workerId: string;
  readonly state: string;
  readonly running: number;
  /** Slots over all its lanes; 0 until it has planned them. */
  readonly lanes: number;
  readonly jobsDone: number;
  readonly rssBytes: number;
}

/** What waits for a pool. */
export interface PoolBacklog {
  /** Jobs that could run now. */
  readonly claimable: number;
  /** What a job takes, ms; null: not known, or not asked. */
  readonly averageMs: number | null;
}

export type PoolUpMessage =
  | { readonly type: 'setup'; readonly setup: PoolSetup }
  | { readonly type: 'status'; readonly status: PoolMemberStatus }
  /** Null: it is not known now. */
  | { readonly type: 'backlog'; readonly ask: number; readonly backlog: PoolBacklog | null }
  /** Its last words, with how its attempts ended. */
  | { readonly type: 'ended'; readonly counts: Readonly<Record<string, number>> };

export type PoolDownMessage =
  | { readonly type: 'drain'; readonly reason: string }
  /** To a worker behind a hub: what waits, as its hub knows. */
  | { readonly type: 'ask-backlog'; readonly ask: number };
