/**
 * REGISTER: tells storage who is here, for as long as it takes. A living worker under the same id (a copy of the state
 * folder elsewhere) keeps it, and this one goes on at once under an id of its own. Whoever knows that an earlier
 * incarnation of its id has ended takes its place and its leases: what had not started is free again, what had counts a
 * death.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { spell } from '../core/spell-duration.js';
import { isMillraceError } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import { Rescuer } from '../maintenance/rescuer.js';
import type { Storage } from '../storage/storage.js';
import type { AdminState, WorkerReport } from '../storage/worker-record.js';
import { monotonicMs } from './monotonic.js';

export interface RegistrationOptions {
  readonly storage: Storage;
  /** With the id that is wanted. */
  readonly report: WorkerReport;
  /** An earlier incarnation of that id that has ended for sure. */
  readonly ended: string | null;
  readonly ttlMs: number;
  readonly leaseMs: number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Registration {
  readonly id: string;
  readonly adminState: AdminState;
}

const maxBackoffMs = 15_000;
const firstBackoffMs = 200;

export const freshWorkerId = (): string => `w-${randomBytes(4).toString('hex')}`;

/** Tries for ever; rejects with the reason of the signal. */
export async function registerPatiently(options: RegistrationOptions): Promise<Registration> {
  const { storage, ended, ttlMs, logger, signal } = options;
  let { report } = options;
  for (let failures = 0; ; ) {
    signal.throwIfAborted();
    try {
      const { outcome, adminState } = await storage.register(report, ttlMs, ended);
      if (outcome === 'registered') {
        if (ended !== null && report.id === options.report.id) await takeBackLeases(options, ended);
        return { id: report.id, adminState };
      }
      const id = freshWorkerId();
      logger.warn(`another living worker is registered under the id ${report.id}; this one goes on as ${id}`);
      report = { ...report, id };
    } catch (error) {
      failures += 1;
      // What waiting can't cure is tried on all the same, at the cap: someone may cure it.
      const isFinal = !isMillraceError(error) || !error.retryable;
      const capMs = isFinal ? maxBackoffMs : Math.min(maxBackoffMs, firstBackoffMs * 2 ** failures);
      const waitMs = Math.round(capMs * Math.random());
      logger[isFinal ? 'error' : 'warn'](`link: not registered, trying again in ${spell(waitMs)}`, {
        failures,
        error,
      });
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** What an incarnation held when it ended is taken back. A failure leaves them to lapse, as if nothing were known. */
export async function takeBackLeases(
  { storage, leaseMs, logger }: Pick<RegistrationOptions, 'storage' | 'leaseMs' | 'logger'>,
  ended: string,
): Promise<void> {
  try {
    const rescuer = new Rescuer({ storage, leaseMs, logger, random: Math.random, monotonic: monotonicMs });
    const { retried, buried, ended: stopped } = await rescuer.takeOver(ended);
    const sum = (counts: Readonly<Record<string, number>>): number =>
      Object.values(counts).reduce((total, count) => total + count, 0);
    const jobs = sum(retried) + sum(buried) + stopped;
    if (jobs > 0)
      logger.warn('took back what the incarnation before had held when it ended', { ended, jobs });
  } catch (error) {
    logger.warn('what the incarnation before held could not be taken back and lapses by its time', {
      ended,
      error,
    });
  }
}
