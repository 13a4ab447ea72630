/**
 * Takes back expired leases, on evidence. A lease past its end is suspicion; it becomes death only when this process has
 * itself seen the database reachable for one whole lease, so that a worker which could not renew because storage was away
 * has had its chance. A process too young to know (or one that was frozen meanwhile) takes only leases that ended a whole
 * lease ago, and those only when the server has been up for that long. A worker on a hub link renews through a hub, so
 * for its leases some hub must have been alive for as long (`hub-evidence.ts`); without one they wait, and those of
 * workers on a storage link do not wait with them.
 *
 * Each lease is decided by itself and guarded by the end it was seen with: one that was renewed in between stays.
 */
import { decideAfterDeath } from '../core/after-death.js';
import { type ResolvedBackoff, resolveBackoff } from '../core/backoff.js';
import { isMillraceError } from '../internal/errors.js';
import { appendFailure } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';
import { incarnationOf } from '../storage/claimed-job.js';
import type { ExpiredLease, TakeBack, TakeBackOutcome } from '../storage/settlement.js';
import type { Storage } from '../storage/storage.js';
import { HubEvidence } from './hub-evidence.js';

const pageSize = 200;
const deathBackoff: ResolvedBackoff = resolveBackoff('exponential');

export interface RescuerOptions {
  readonly storage: Storage;
  readonly leaseMs: number;
  readonly logger: Logger;
  readonly random: () => number;
  /** Monotonic ms. */
  readonly monotonic: () => number;
}

export interface RescueReport {
  /** Due again, by queue. */
  readonly retried: Readonly<Record<string, number>>;
  /** Buried as poison or because that was asked for, by queue. */
  readonly buried: Readonly<Record<string, number>>;
  /** Cancelled or deleted since that was asked for. */
  readonly ended: number;
  /** Expired leases left alone for want of evidence. */
  readonly waiting: number;
}

export class Rescuer {
  readonly #options: RescuerOptions;
  readonly #hubs: HubEvidence;
  #reachableSinceMs: number | null = null;
  #observedAtMs: number | null = null;

  constructor(options: RescuerOptions) {
    this.#options = options;
    this.#hubs = new HubEvidence(options);
  }

  /** Rejects when storage cannot be reached; what was taken back by then stays so. `force` takes every expired lease. */
  async sweep({ force = false, expectedEveryMs = Number.POSITIVE_INFINITY } = {}): Promise<RescueReport> {
    if (force) return await this.#eachPage((page) => page);
    const { leaseMs } = this.#options;
    return await this.watching(expectedEveryMs, () =>
      this.#eachPage(async (page) => this.#hubs.proven(await this.#withEvidence(page, leaseMs))),
    );
  }

  /** Takes back at once all that an incarnation holds; for who knows that it has ended, which is all the evidence there can be. */
  async takeOver(incarnation: string): Promise<RescueReport> {
    // They end now, and are then taken like every lease that has ended; should this process die too, others find them.
    await this.#options.storage.renew(incarnation, 0);
    return await this.#eachPage((page) => page.filter(({ token }) => incarnationOf(token) === incarnation));
  }

  async #eachPage(
    choose: (page: readonly ExpiredLease[]) => readonly ExpiredLease[] | Promise<readonly ExpiredLease[]>,
  ): Promise<RescueReport> {
    const counts = {
      retried: {} as Record<string, number>,
      buried: {} as Record<string, number>,
      ended: 0,
      waiting: 0,
    };
    let after: { leaseUntilMs: number; id: string } | undefined;
    for (;;) {
      const page = await this.#options.storage.expired({
        expiredForMs: 0,
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
      });
      const taken = await choose(page);
      counts.waiting += page.length - taken.length;
      await this.#takeBack(taken, counts);
      const last = page.at(-1);
      if (page.length < pageSize || last === undefined) return counts;
      after = { leaseUntilMs: last.leaseUntilMs, id: last.id };
    }
  }

  /**
   * Looks at the hubs, runs a call to storage and takes its answer, or its failure, as an observation of whether the
   * database can be reached.
   */
  async watching<T>(expectedEveryMs: number, call: () => Promise<T>): Promise<T> {
    try {
      this.#observe(expectedEveryMs);
      await this.#hubs.look();
      return await call();
    } catch (error) {
      this.#reachableSinceMs = null;
      this.#hubs.forget();
      throw error;
    }
  }

  /** A gap between observations much longer than the rhythm means that this process was frozen: it knows nothing of the time between. */
  #observe(expectedEveryMs: number): void {
    const now = this.#options.monotonic();
    const isFirst = this.#reachableSinceMs === null || this.#observedAtMs === null;
    if (isFirst || now - (this.#observedAtMs ?? 0) > expectedEveryMs * 3) {
      this.#reachableSinceMs = now;
      this.#hubs.forget();
    }
    this.#observedAtMs = now;
  }

  async #withEvidence(page: readonly ExpiredLease[], leaseMs: number): Promise<readonly ExpiredLease[]> {
    if (page.length === 0) return page;
    const watchedMs =
      this.#reachableSinceMs === null ? 0 : this.#options.monotonic() - this.#reachableSinceMs;
    if (watchedMs >= leaseMs) return page;
    const uptimeMs = (await this.#options.storage.serverUptimeMs()) ?? Number.POSITIVE_INFINITY;
    return page.filter((lease) => lease.expiredForMs >= leaseMs && uptimeMs >= lease.expiredForMs);
  }

  async #takeBack(leases: readonly ExpiredLease[], counts: Counts): Promise<void> {
    if (leases.length === 0) return;
    const decisions = leases.map((lease) => this.#decide(lease));
    const outcomes = await this.#outcomesOf(decisions);
    leases.forEach((lease, index) => {
      const decision = decisions[index];
      if (outcomes[index] !== 'done' || decision === undefined) return;
      this.#count(lease, decision, counts);
    });
  }

  /** All in one call; where storage refuses that for good, each by itself, so that a bad row keeps none of the others. */
  async #outcomesOf(decisions: readonly TakeBack[]): Promise<(TakeBackOutcome | null)[]> {
    const { storage, logger } = this.#options;
    try {
      return await storage.takeBack(decisions);
    } catch (error) {
      if (!isMillraceError(error) || error.retryable) throw error;
      if (decisions.length > 1) {
        const outcomes: (TakeBackOutcome | null)[] = [];
        for (const decision of decisions) outcomes.push(...(await this.#outcomesOf([decision])));
        return outcomes;
      }
      logger.error('an expired lease could not be taken back', { job: decisions[0]?.id, error });
      return [null];
    }
  }

  #count(lease: ExpiredLease, decision: TakeBack, counts: Counts): void {
    const { id, name, queue, workerId, expiredForMs } = lease;
    this.#options.logger.warn(`recovered an expired lease: ${decision.kind}`, {
      job: id,
      name,
      queue,
      worker: workerId,
      expiredForMs,
    });
    const isBuried =
      decision.kind === 'poison' || (decision.kind === 'stopped' && lease.stopRequest === 'bury');
    if (isBuried) counts.buried[queue] = (counts.buried[queue] ?? 0) + 1;
    else if (decision.kind === 'stopped') counts.ended += 1;
    else counts.retried[queue] = (counts.retried[queue] ?? 0) + 1;
  }

  #decide(lease: ExpiredLease): TakeBack {
    const { id, token, leaseUntilMs, started: isStarted, deaths, ranAlone, stopRequest } = lease;
    const base = { id, token, leaseUntilMs };
    const decision = decideAfterDeath(
      { isStarted, deaths, ranAlone, stopRequest, backoff: deathBackoff },
      this.#options.random,
    );
    switch (decision.kind) {
      case 'put-back':
        return { ...base, kind: 'lapsed' };
      case 'retry':
        return {
          ...base,
          kind: 'died',
          delayMs: decision.delayMs,
          alone: decision.alone,
          errors: deathNote(lease, 'died'),
        };
      case 'buried':
        return decision.poison
          ? { ...base, kind: 'poison', errors: deathNote(lease, 'poison') }
          : { ...base, kind: 'stopped' };
      case 'cancelled':
      case 'deleted':
        return { ...base, kind: 'stopped' };
    }
  }
}

interface Counts {
  retried: Record<string, number>;
  buried: Record<string, number>;
  ended: number;
}

function deathNote(lease: ExpiredLease, kind: 'died' | 'poison'): string {
  const how =
    kind === 'poison'
      ? 'the worker died while only this job ran on it, for the third time'
      : 'the worker died or vanished while this job ran';
  const message = `${how}; its lease ended ${Math.round(lease.expiredForMs / 1000)} s before it was taken back`;
  return appendFailure(lease.errors, {
    at: lease.leaseUntilMs,
    attempt: lease.attempts + 1,
    kind,
    worker: lease.workerId,
    error: { name: 'WorkerDied', message },
  });
}
