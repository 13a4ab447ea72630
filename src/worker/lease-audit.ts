/**
 * Compares what storage says this worker holds with what the worker knows, once a second:
 * - running or buffered here, not held there: the lease is lost; the handler's signal fires, the result will be refused;
 * - a stop request: the handler's signal fires, a buffered job is settled at once;
 * - held there, unknown here (the answer of a claim never came and was not asked for again): put back after three looks.
 * A look is as old as the moment it was asked for. It judges only what had been claimed by then, answer and all: one that
 * was asked for while a claim was on its way may be from before it.
 */
import type { HeldLease, Lease } from '../storage/claimed-job.js';
import type { AbortCause, Attempt } from './attempt.js';
import type { Buffer, BufferedJob } from './buffer.js';
import type { LinkSnapshot } from './link/link.js';

export interface LeaseAuditOptions {
  readonly buffer: Buffer;
  readonly attempts: Iterable<Attempt>;
  /** Ids of results not yet acknowledged. */
  readonly settling: () => Iterable<string>;
  /** True while an exchange is under way, whose claims this worker does not know yet. */
  readonly isExchanging: () => boolean;
  readonly abort: (attempt: Attempt, cause: AbortCause) => void;
  readonly cancelBuffered: (buffered: BufferedJob) => void;
  readonly dropBuffered: (buffered: BufferedJob) => void;
  readonly putBackOrphan: (lease: Lease) => void;
}

const looksBeforeOrphan = 3;

export class LeaseAudit {
  readonly #options: LeaseAuditOptions;
  #unknown = new Map<string, number>();

  constructor(options: LeaseAuditOptions) {
    this.#options = options;
  }

  take({ askedAtMs, held }: LinkSnapshot): void {
    const byId = new Map(held.map((lease) => [lease.id, lease]));
    for (const attempt of this.#options.attempts) {
      if (attempt.claimedAtMs >= askedAtMs || attempt.isAbandoned) continue;
      const lease = byId.get(attempt.job.id);
      if (lease?.token !== attempt.job.token) this.#options.abort(attempt, 'lease-lost');
      else if (lease.stopRequest !== null) this.#options.abort(attempt, 'cancelled');
    }
    this.#judgeBuffer(byId, askedAtMs);
    this.#judgeOrphans(held);
  }

  /** Operators want these ended, which says nothing of the others. */
  stop(leases: readonly HeldLease[]): void {
    const byId = new Map(leases.map((lease) => [lease.id, lease]));
    const isMeant = ({ id, token }: Lease): boolean => {
      const lease = byId.get(id);
      return lease !== undefined && lease.token === token && lease.stopRequest !== null;
    };
    for (const attempt of this.#options.attempts)
      if (!attempt.isAbandoned && isMeant(attempt.job)) this.#options.abort(attempt, 'cancelled');
    for (const stopped of this.#options.buffer.remove(({ job }) => isMeant(job)))
      this.#options.cancelBuffered(stopped);
  }

  #judgeBuffer(byId: ReadonlyMap<string, HeldLease>, askedAtMs: number): void {
    const { buffer, cancelBuffered, dropBuffered } = this.#options;
    if (buffer.size === 0) return;
    const isOld = (buffered: BufferedJob): boolean => buffered.claimedAtMs < askedAtMs;
    const isLost = ({ job }: BufferedJob): boolean => byId.get(job.id)?.token !== job.token;
    for (const lost of buffer.remove((buffered) => isOld(buffered) && isLost(buffered))) dropBuffered(lost);
    const isStopped = ({ job }: BufferedJob): boolean => (byId.get(job.id)?.stopRequest ?? null) !== null;
    for (const stopped of buffer.remove(isStopped)) cancelBuffered(stopped);
  }

  #judgeOrphans(held: readonly HeldLease[]): void {
    if (held.length === 0 || this.#options.isExchanging()) {
      this.#unknown.clear();
      return;
    }
    const mine = new Set<string>(this.#options.settling());
    for (const { job } of this.#options.attempts) mine.add(job.id);
    for (const { job } of this.#options.buffer) mine.add(job.id);
    const before = this.#unknown;
    this.#unknown = new Map();
    for (const { id, token } of held) {
      if (mine.has(id)) continue;
      const looks = (before.get(id) ?? 0) + 1;
      if (looks >= looksBeforeOrphan) this.#options.putBackOrphan({ id, token });
      else this.#unknown.set(id, looks);
    }
  }
}
