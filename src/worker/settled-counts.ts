import type { Settlement } from '../storage/settlement.js';

export type SettledKind = Settlement['kind'] | 'lease-lost';

/** How many attempts ended in which way, since the worker was made. */
export class SettledCounts {
  readonly #counts: Record<SettledKind, number> = {
    completed: 0,
    retry: 0,
    buried: 0,
    cancelled: 0,
    snoozed: 0,
    'put-back': 0,
    died: 0,
    'lease-lost': 0,
  };

  add(kind: SettledKind): void {
    this.#counts[kind] += 1;
  }

  of(kind: SettledKind): number {
    return this.#counts[kind];
  }

  /** By kind. */
  get all(): Readonly<Record<SettledKind, number>> {
    return { ...this.#counts };
  }

  /** Attempts that ended by their handler; a put-back or a death is none. */
  get ended(): number {
    const { completed, retry, buried, cancelled, snoozed } = this.#counts;
    return completed + retry + buried + cancelled + snoozed;
  }
}
