import type { JobStatus } from '../../core/job-status.js';
import type { AccessToken } from '../access-token.js';
import type { AuditEntry } from '../audit.js';
import type { LeaseToken, StopRequest } from '../claimed-job.js';
import type { HubRecord } from '../hub-record.js';
import type { FileRecord } from '../job-file.js';
import type { JobLimit } from '../job-limit.js';
import type { LogLine } from '../job-log.js';
import type { FailedParentPolicy, NewJob, UniqueScope } from '../new-job.js';

import type { AdminState, WorkerRecord } from '../worker-record.js';
import { Profiles } from './profiles.js';
import { Turns } from './turns.js';
import { type MemoryLine, WaitingLines } from './waiting-lines.js';

/** The lease of a processing job. */
export interface MemoryLease {
  readonly token: LeaseToken;
  readonly alone: boolean;
  /** Claimed under a budget of its queue. */
  readonly metered: boolean;
  untilMs: number;
  started: boolean;
  stopRequest: StopRequest | null;
}

export interface MemoryJob {
  readonly id: string;
  readonly name: string;
  readonly tags: readonly string[];
  queue: string;
  payload: string;
  version: number;
  priority: number;
  readonly maxAttempts: number;
  readonly createdAtMs: number;
  readonly retentionMs: number | null;
  readonly limit: JobLimit | null;
  readonly cost: number;
  readonly requires: readonly string[];
  readonly unique: { readonly key: string; readonly scope: UniqueScope } | null;
  readonly idempotencyKey: string | null;
  readonly onFailedParent: FailedParentPolicy;
  /** Every job it ever waited for, by whether it still does. */
  readonly parents: Map<string, 'waiting' | 'met'>;
  readonly log: MemoryLogLine[];
  status: JobStatus;
  dueAtMs: number;
  attempts: number;
  deaths: number;
  lapses: number;
  alone: boolean;
  errors: string | null;
  result: string | null;
  outcome: 'skipped' | null;
  reason: string | null;
  claimedAtMs: number | null;
  finishedAtMs: number | null;
  workerId: string | null;
  lease: MemoryLease | null;
  /** Of its newest lease: counts the claims of this storage; log lines are ordered by it. */
  claimNumber: number;
  /** The token whose settlement ended it; null when another hand did. */
  endedBy: LeaseToken | null;
}

export interface MemoryLogLine extends Omit<LogLine, 'cursor'> {
  readonly token: LeaseToken;
  readonly claimNumber: number;
}

export interface HeldKey {
  readonly jobId: string;
  /** When a period has passed; null for keys that an event frees. */
  readonly untilMs: number | null;
}

export interface EndedCounts {
  completed: number;
  buried: number;
  cancelled: number;
}

export interface MemoryWorker extends Omit<WorkerRecord, 'silentForMs' | 'disconnectedForMs'> {
  readonly disconnectedAtMs: number | null;
}

export interface Duty {
  readonly holder: string;
  readonly untilMs: number;
}

export function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** Everything a memory storage knows. Changed only by the functions of this folder, each in one synchronous step. */
export class MemoryState {
  readonly jobs = new Map<string, MemoryJob>();
  readonly processing = new Map<string, MemoryJob>();
  /** Jobs by the id of one they wait for or waited for. */
  readonly dependents = new Map<string, Set<string>>();
  readonly uniqueKeys = new Map<string, HeldKey>();
  readonly idempotencyKeys = new Map<string, { readonly jobId: string; readonly inputHash: string }>();
  readonly paused = new Set<string>();
  readonly ended = new Map<string, EndedCounts>();
  readonly workers = new Map<string, MemoryWorker>();
  /** Of ids whose registration was forgotten; never `active`. */
  readonly keptAdminStates = new Map<string, AdminState>();
  /** In the order in which they were written. */
  readonly audit: AuditEntry[] = [];
  readonly hubs = new Map<string, Omit<HubRecord, 'silentForMs'>>();
  /** In the order of their making. */
  readonly tokens = new Map<string, Omit<AccessToken, 'isValid'>>();
  readonly duties = new Map<string, Duty>();
  files = new Map<string, FileRecord>();
  fileStoreId: string | null = null;
  /** Queues in which something may have become claimable since the last wake-up. */
  readonly awakened = new Set<string>();
  claims = 0;
  /** Processing jobs that count against a limit or a budget. */
  readonly bounded = new Set<MemoryJob>();
  readonly turns = new Turns();
  readonly profiles = new Profiles();
  readonly #waiting = new Map<string, WaitingLines>();

  readonly #clock: () => number;
  #nowMs = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** All that one call does, it does at one time. */
  readClock(): void {
    this.#nowMs = this.#clock();
  }

  now(): number {
    return this.#nowMs;
  }

  /** The pending jobs of a queue, line by line. */
  lines(queue: string): Iterable<MemoryLine> {
    return this.#waiting.get(queue)?.lines ?? [];
  }

  /** The pending jobs of the line of this one, those before it first. */
  lineOf(job: MemoryJob): Iterable<MemoryJob> {
    return this.#waiting.get(job.queue)?.lineOf(job)?.jobs ?? [];
  }

  makePending(job: MemoryJob): void {
    job.status = 'pending';
    let waiting = this.#waiting.get(job.queue);
    if (waiting === undefined) {
      waiting = new WaitingLines();
      this.#waiting.set(job.queue, waiting);
    }
    waiting.add(job);
    this.awakened.add(job.queue);
  }

  /** Takes a pending job out of its line; must come before anything that moves its place in it. */
  leavePending(job: MemoryJob): void {
    this.#waiting.get(job.queue)?.remove(job);
  }

  /** Others may run now in the place that this job held. */
  awakenForRoomOf(job: MemoryJob, wasMetered: boolean): void {
    if (wasMetered) this.awakened.add(job.queue);
    const { limit } = job;
    if (limit === null) return;
    for (const [queue, waiting] of this.#waiting) if (waiting.hasGroup(limit.group)) this.awakened.add(queue);
  }

  countEnding(queue: string, status: keyof EndedCounts): void {
    const counts = this.ended.get(queue) ?? { completed: 0, buried: 0, cancelled: 0 };
    counts[status] += 1;
    this.ended.set(queue, counts);
  }
}

export function dueAtMs(due: NewJob['due'], nowMs: number): number {
  return 'atMs' in due ? due.atMs : nowMs + due.inMs;
}

export function newMemoryJob(job: NewJob, nowMs: number): MemoryJob {
  return {
    id: job.id,
    name: job.name,
    tags: [...job.tags],
    queue: job.queue,
    payload: job.payload,
    version: job.version,
    priority: job.priority,
    maxAttempts: job.maxAttempts,
    createdAtMs: nowMs,
    retentionMs: job.retentionMs,
    limit: job.limit,
    cost: job.cost,
    requires: job.requires,
    unique: job.unique === null ? null : { key: job.unique.key, scope: job.unique.scope },
    idempotencyKey: job.idempotency?.key ?? null,
    onFailedParent: job.after?.onFailure ?? 'run',
    parents: new Map(),
    log: [],
    status: 'blocked',
    dueAtMs: dueAtMs(job.due, nowMs),
    attempts: 0,
    deaths: 0,
    lapses: 0,
    alone: false,
    errors: null,
    result: null,
    outcome: null,
    reason: null,
    claimedAtMs: null,
    finishedAtMs: null,
    workerId: null,
    lease: null,
    claimNumber: 0,
    endedBy: null,
  };
}
