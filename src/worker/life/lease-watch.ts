import type { HeldLease, Lease } from '../../storage/claimed-job.js';
import type { Attempt } from '../attempt.js';
import type { Buffer } from '../buffer.js';
import { LeaseAudit } from '../lease-audit.js';
import type { LinkSnapshot } from '../link/link.js';
import type { Runner } from '../runner.js';
import type { Intake } from './intake.js';
import type { LifeOptions } from './life-options.js';
import type { Results } from './results.js';

export interface LeaseWatchOptions extends Pick<LifeOptions, 'host' | 'membership' | 'identity'> {
  readonly buffer: Buffer;
  readonly runner: Runner;
  readonly results: Results;
  readonly intake: Intake;
  /** True while an exchange is under way, whose claims this worker does not know yet. */
  readonly isExchanging: () => boolean;
}

/** Follows what storage says of the leases of this worker, and says what it holds itself. */
export class LeaseWatch {
  readonly #options: LeaseWatchOptions;
  readonly #audit: LeaseAudit;

  constructor(options: LeaseWatchOptions) {
    this.#options = options;
    const { buffer, runner, results, host, isExchanging } = options;
    this.#audit = new LeaseAudit({
      buffer,
      attempts: runner.attempts,
      settling: () => results.outbox.ids(),
      isExchanging,
      abort: (attempt, cause) => void runner.abortUnlessSettled(attempt, cause),
      cancelBuffered: ({ job }) =>
        results.send({ id: job.id, token: job.token, kind: 'cancelled', reason: 'operator' }, job),
      dropBuffered: ({ job }) =>
        host.logger.warn('a buffered job was taken from this worker', { job: job.id, name: job.name }),
      putBackOrphan: (lease) =>
        results.send(
          { ...lease, kind: 'put-back', delayMs: 0, reason: 'its worker did not know of it' },
          null,
        ),
    });
  }

  /** All that it runs, keeps for starting, or has a result of that is not acknowledged. */
  held(): Lease[] {
    const { runner, buffer, results } = this.#options;
    const held = new Map<string, Lease>();
    const add = ({ id, token }: Lease): void => void held.set(id, { id, token });
    for (const { job, isAbandoned, abortCause } of runner.attempts)
      if (!isAbandoned && abortCause !== 'lease-lost') add(job);
    for (const { job } of buffer) add(job);
    for (const lease of results.outbox.leases()) add(lease);
    return [...held.values()];
  }

  take(snapshot: LinkSnapshot): void {
    const { buffer, intake } = this.#options;
    this.#audit.take(snapshot);
    if (snapshot.isRenewal) buffer.renew(snapshot.held, snapshot.askedAtMs);
    if (buffer.size === 0) return;
    intake.returnPaused(snapshot.paused);
    intake.fill();
  }

  /** Operators want these ended. */
  stop(leases: readonly HeldLease[]): void {
    this.#audit.stop(leases);
  }

  /** Asked by a handler: whether its lease holds. */
  async renewNow(attempt: Attempt): Promise<boolean> {
    const { membership, identity, host, runner } = this.#options;
    let held: readonly HeldLease[];
    try {
      held = await membership.storage.renew(identity.incarnation, host.settings.leaseMs);
    } catch (error) {
      // Storage that does not answer is no verdict on the lease, and no failure of the handler that asked.
      host.logger.debug('the lease of a job could not be renewed now', { job: attempt.job.id, error });
      return attempt.abortCause === null;
    }
    const isHeld = held.some(({ id, token }) => id === attempt.job.id && token === attempt.job.token);
    if (!isHeld) runner.abort(attempt, 'lease-lost');
    return isHeld;
  }
}
