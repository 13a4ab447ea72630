import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { uuidv7 } from '../../src/internal/uuid.js';
import type { Engine } from '../../src/storage/capabilities.js';
import type { ClaimedJob, ClaimRequest, LeaseToken } from '../../src/storage/claimed-job.js';
import type { JobFilter, JobRecord, JobSummary, QueueStats } from '../../src/storage/job-record.js';
import type { EnqueueOutcome, NewJob } from '../../src/storage/new-job.js';
import type { ExpiredLease, Settlement, SettleOutcome } from '../../src/storage/settlement.js';
import type { Storage } from '../../src/storage/storage.js';
import { type ClaimWish, claimOf } from '../support/claim-request.js';

/** An engine as the suite is handed it: one empty database, whose clock only the suite moves. */
export interface EngineFixture extends AsyncDisposable {
  readonly storage: Storage;
  /** A second object on the same database, with the same clock; closed by whoever opened it. */
  readonly another?: () => Promise<Storage>;
  readonly clock: { advance(ms: number): void };
}

export interface EngineUnderTest {
  readonly name: Engine;
  readonly open: () => Promise<EngineFixture>;
}

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 86_400_000;
export const LEASE = 45 * SECOND;

/** What a test says of a settlement; the lease is added by `stage.settle`. */
export type Verdict = WithoutLease<Settlement>;

/** Of each kind by itself, so that the kinds stay apart. */
type WithoutLease<One> = One extends Settlement ? Omit<One, 'id' | 'token'> : never;

export const done: Verdict = { kind: 'completed', result: null };

/**
 * Where the tests of one engine play. All of them share one database, so each keeps to queues of its own, and what is
 * asked about the whole database is looked at through them.
 */
export class Stage {
  readonly engine: Engine;
  readonly #fixture: () => EngineFixture;

  constructor(engine: Engine, fixture: () => EngineFixture) {
    this.engine = engine;
    this.#fixture = fixture;
  }

  get storage(): Storage {
    return this.#fixture().storage;
  }

  /** A second object on the same database where the engine has one, else the same object. */
  async another(): Promise<{ storage: Storage } & AsyncDisposable> {
    const open = this.#fixture().another;
    if (open === undefined) return { storage: this.storage, [Symbol.asyncDispose]: () => Promise.resolve() };
    const storage = await open();
    return { storage, [Symbol.asyncDispose]: () => storage.close() };
  }

  advance(ms: number): void {
    this.#fixture().clock.advance(ms);
  }

  queue(): string {
    return `q-${randomBytes(8).toString('hex')}`;
  }

  incarnation(): string {
    return randomBytes(8).toString('hex');
  }

  token(incarnation = this.incarnation()): LeaseToken {
    return incarnation + randomBytes(8).toString('hex');
  }

  newJob(queue: string, with_: Partial<NewJob> = {}): NewJob {
    return {
      id: uuidv7(),
      name: 'work',
      queue,
      payload: '{"n":1}',
      version: 1,
      tags: [],
      priority: 0,
      due: { inMs: 0 },
      maxAttempts: 3,
      retentionMs: null,
      unique: null,
      idempotency: null,
      after: null,
      limit: null,
      cost: 1,
      requires: [],
      ...with_,
    };
  }

  newJobs(queue: string, count: number, with_: Partial<NewJob> = {}): NewJob[] {
    return Array.from({ length: count }, () => this.newJob(queue, with_));
  }

  /** Enqueues one and answers what became of it. */
  async offer(job: NewJob): Promise<EnqueueOutcome> {
    const [outcome] = await this.storage.enqueue([job]);
    if (outcome === undefined) throw new Error('enqueue answered nothing for a job');
    return outcome;
  }

  /** Enqueues one that nothing stands against; its id. */
  async add(queue: string, with_: Partial<NewJob> = {}): Promise<string> {
    const job = this.newJob(queue, with_);
    expect(await this.offer(job)).toEqual({ outcome: 'created', id: job.id });
    return job.id;
  }

  async addMany(queue: string, count: number, with_: Partial<NewJob> = {}): Promise<string[]> {
    const jobs = this.newJobs(queue, count, with_);
    const outcomes = await this.storage.enqueue(jobs);
    expect(outcomes).toEqual(jobs.map(({ id }) => ({ outcome: 'created', id })));
    return jobs.map(({ id }) => id);
  }

  request(queue: string | readonly string[], with_: Partial<ClaimWish> = {}): ClaimRequest {
    return claimOf({
      token: this.token(),
      workerId: 'worker-1',
      leaseMs: LEASE,
      queues: typeof queue === 'string' ? [queue] : queue,
      names: ['work'],
      limit: 100,
      start: with_.limit ?? 100,
      alone: false,
      ...with_,
    });
  }

  claim(queue: string | readonly string[], with_: Partial<ClaimWish> = {}): Promise<ClaimedJob[]> {
    return this.storage.claim(this.request(queue, with_));
  }

  async claimIds(queue: string | readonly string[], with_: Partial<ClaimWish> = {}): Promise<string[]> {
    return (await this.claim(queue, with_)).map(({ id }) => id);
  }

  async claimOne(queue: string, with_: Partial<ClaimWish> = {}): Promise<ClaimedJob> {
    const [job] = await this.claim(queue, { limit: 1, ...with_ });
    if (job === undefined) throw new Error(`nothing to claim in ${queue}`);
    return job;
  }

  /** Enqueues one and claims it. */
  async running(
    queue: string,
    with_: Partial<NewJob> = {},
    claim: Partial<ClaimWish> = {},
  ): Promise<ClaimedJob> {
    const id = await this.add(queue, with_);
    const job = await this.claimOne(queue, claim);
    expect(job.id).toBe(id);
    return job;
  }

  async settle(lease: { id: string; token: string }, verdict: Verdict = done): Promise<SettleOutcome> {
    const [outcome] = await this.storage.settle([settlement(lease, verdict)]);
    if (outcome === undefined) throw new Error('settle answered nothing for a settlement');
    return outcome;
  }

  /** Enqueues one, claims it and ends it so. */
  async ended(queue: string, verdict: Verdict, with_: Partial<NewJob> = {}): Promise<ClaimedJob> {
    const job = await this.running(queue, with_);
    expect(await this.settle(job, verdict)).toBe('done');
    return job;
  }

  async record(id: string): Promise<JobRecord> {
    const record = await this.storage.job(id);
    if (record === null) throw new Error(`job ${id} is not known`);
    return record;
  }

  async statuses(ids: readonly string[]): Promise<string[]> {
    const found = new Map((await this.storage.endings(ids)).map(({ id, status }) => [id, status]));
    return ids.map((id) => found.get(id) ?? 'unknown');
  }

  async stats(queue: string): Promise<QueueStats> {
    const [stats] = await this.storage.stats(queue);
    if (stats === undefined) throw new Error(`stats answered nothing for ${queue}`);
    return stats;
  }

  async allJobs(filter: JobFilter, limit = 1_000): Promise<JobSummary[]> {
    const jobs: JobSummary[] = [];
    let cursor: string | null | undefined;
    for (let pages = 0; cursor !== null; pages += 1) {
      if (pages > 2_000) throw new Error('listing jobs does not come to an end');
      const page = await this.storage.jobs(filter, cursor === undefined ? { limit } : { limit, cursor });
      expect(page.jobs.length).toBeLessThanOrEqual(limit);
      jobs.push(...page.jobs);
      cursor = page.next;
    }
    return jobs;
  }

  /**
   * Pages through all expired leases; those of this queue. `sinceMs` leaves out leases that ended before it, as other
   * tests leave some.
   */
  async expired(
    queue: string,
    { expiredForMs = 0, limit = 1_000, sinceMs = 0 } = {},
  ): Promise<ExpiredLease[]> {
    const found: ExpiredLease[] = [];
    let after = { leaseUntilMs: sinceMs, id: '00000000-0000-7000-8000-000000000000' };
    for (;;) {
      const page = await this.storage.expired({
        expiredForMs,
        limit,
        ...(after.leaseUntilMs > 0 ? { after } : {}),
      });
      found.push(...page);
      const last = page.at(-1);
      if (last === undefined || page.length < limit) break;
      after = { leaseUntilMs: last.leaseUntilMs, id: last.id };
    }
    return found.filter((lease) => lease.queue === queue);
  }

  /** Lets the lease of the only running job of this queue end, and answers it as the rescuer sees it. */
  async lapse(queue: string): Promise<ExpiredLease> {
    this.advance(LEASE + SECOND);
    const leases = await this.expired(queue);
    expect(leases).toHaveLength(1);
    return leases[0] as ExpiredLease;
  }

  /** Purges until nothing more goes; how many went in all. */
  async purgeAll(
    statuses: readonly ('completed' | 'buried' | 'cancelled')[],
    olderThanMs: number,
  ): Promise<number> {
    let purged = 0;
    for (;;) {
      const count = await this.storage.purge({ statuses, olderThanMs, limit: 1_000 });
      if (count === 0) return purged;
      purged += count;
    }
  }
}

export function settlement(lease: { id: string; token: string }, verdict: Verdict = done): Settlement {
  return { id: lease.id, token: lease.token, ...verdict } as Settlement;
}

export function failure(message = 'it broke'): string {
  return JSON.stringify([{ at: 1, attempt: 1, kind: 'failed', error: { name: 'Error', message } }]);
}

export const sorted = (values: readonly string[]): string[] => [...values].sort();

/** Real time that passes while a test runs is noise beside the times it sets. */
export function expectAbout(
  actualMs: number | null | undefined,
  expectedMs: number,
  slackMs = 10 * SECOND,
): void {
  expect(actualMs).toBeTypeOf('number');
  expect(Math.abs((actualMs as number) - expectedMs), `${actualMs} is about ${expectedMs}`).toBeLessThan(
    slackMs,
  );
}
