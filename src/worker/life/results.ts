import type { ClaimedJob } from '../../storage/claimed-job.js';
import type { Settlement, SettleOutcome } from '../../storage/settlement.js';
import type { Attempt } from '../attempt.js';
import { Outbox, type OutboxEntry } from '../outbox.js';
import { emitSettled } from '../settled-events.js';
import { logSettled } from '../settled-log.js';
import type { LifeOptions } from './life-options.js';

export interface ResultsOptions extends Pick<LifeOptions, 'host' | 'counts' | 'identity'> {
  /** One more waits to be sent. */
  readonly onSent: () => void;
  /** Storage has answered for some. */
  readonly onSettled: () => void;
}

/** What becomes of jobs that were taken: on its way to storage, and counted and told once it is there. */
export class Results {
  readonly outbox = new Outbox();
  readonly #options: ResultsOptions;

  constructor(options: ResultsOptions) {
    this.#options = options;
  }

  /** An attempt is decided; null: its lease is lost. */
  ended(attempt: Attempt, settlement: Settlement | null, durationMs: number): void {
    if (settlement === null) this.#options.counts.add('lease-lost');
    else if (attempt.isSettled) this.settled([{ settlement, job: attempt.job, durationMs }], ['done']);
    else this.send(settlement, attempt.job, durationMs);
  }

  send(settlement: Settlement, job: ClaimedJob | null, durationMs = 0): void {
    this.outbox.add({ settlement, job, durationMs });
    this.#options.onSent();
  }

  /** Uncharged; `why` tells the reason. */
  putBack(jobs: readonly ClaimedJob[], reason: string): void {
    for (const job of jobs) {
      this.send({ id: job.id, token: job.token, kind: 'put-back', delayMs: 0, reason }, job);
    }
  }

  settled(entries: readonly OutboxEntry[], outcomes: readonly SettleOutcome[]): void {
    const { host, counts, identity } = this.#options;
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index] as OutboxEntry;
      const outcome = outcomes[index];
      if (outcome === 'done') {
        counts.add(entry.settlement.kind);
        emitSettled(host.events, entry, identity.id);
        logSettled(host.logger, entry);
      } else {
        counts.add('lease-lost');
        const { id, kind } = entry.settlement;
        host.logger.warn('a result was refused: this worker no longer held the lease', {
          job: id,
          kind,
          outcome,
        });
      }
    }
    this.#options.onSettled();
  }
}
