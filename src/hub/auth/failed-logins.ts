import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../internal/logger.js';
import { RateLimit } from './rate-limit.js';
import type { Refusal } from './refusal.js';

/*
 * Wrong tokens cost their sender time: each waits a moment, and one address has ten of them and then one a second. Right
 * ones are never held up, whoever else sends wrong ones from the same address. What is logged has the address and the
 * public id, never a secret, and not more often than that.
 */

const holdMs = 200;
/** Answers that wait at once; beyond that they are given without a wait, since waiting holds memory. */
const mostHeld = 200;

export interface FailedLoginsOptions {
  readonly logger: Logger;
  readonly now: () => number;
}

export class FailedLogins {
  readonly #logger: Logger;
  readonly #perAddress: RateLimit;
  readonly #lines: RateLimit;
  #held = 0;

  constructor({ logger, now }: FailedLoginsOptions) {
    this.#logger = logger;
    this.#perAddress = new RateLimit({ perSecond: 1, burst: 10, now });
    this.#lines = new RateLimit({ perSecond: 5, burst: 20, now });
  }

  /** Whether this address may still be wrong without being told to wait. */
  hasTries(key: string): boolean {
    return this.#perAddress.waitMs(key) === 0;
  }

  /** Notes a failure and answers with what it is answered with. */
  async refuse(about: { address: string; key: string; id: string | null; detail: string }): Promise<Refusal> {
    const waitMs = this.#perAddress.take(about.key);
    if (waitMs > 0) return tooManyTries(waitMs);
    if (this.#lines.take('all') === 0) {
      this.#logger.warn('auth: refused', {
        address: about.address,
        token: about.id ?? undefined,
        reason: about.detail,
      });
    }
    if (this.#held < mostHeld) {
      this.#held += 1;
      try {
        await pause(holdMs);
      } finally {
        this.#held -= 1;
      }
    }
    return { status: 401, code: 'unauthorized', detail: about.detail };
  }
}

function tooManyTries(waitMs: number): Refusal {
  return {
    status: 429,
    code: 'rate-limited',
    detail: 'too many wrong tokens came from this address. Correct the token, and try again later',
    retryAfterS: Math.ceil(waitMs / 1000),
  };
}
