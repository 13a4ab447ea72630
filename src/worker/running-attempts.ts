import type { Attempt } from './attempt.js';

/**
 * The attempts that run, in no order.
 *
 * An array, not a Set: a Set that is always added to and deleted from is rehashed every few jobs, and each dead table
 * refers to the next one. Once one of them has grown old, the young generation's collector keeps all that follow, with the
 * attempts and jobs in them, until a full collection [measured: 500 bytes a job, 8 to 24 MB of the old generation].
 */
export class RunningAttempts implements Iterable<Attempt> {
  readonly #list: Attempt[] = [];

  get size(): number {
    return this.#list.length;
  }

  has(attempt: Attempt): boolean {
    return this.#list[attempt.slot] === attempt;
  }

  add(attempt: Attempt): void {
    attempt.slot = this.#list.length;
    this.#list.push(attempt);
  }

  /** Its place is taken by the newest one. */
  delete(attempt: Attempt): void {
    if (!this.has(attempt)) return;
    const last = this.#list.pop() as Attempt;
    if (last !== attempt) {
      this.#list[attempt.slot] = last;
      last.slot = attempt.slot;
    }
    attempt.slot = -1;
  }

  [Symbol.iterator](): Iterator<Attempt> {
    return this.#list[Symbol.iterator]();
  }
}
