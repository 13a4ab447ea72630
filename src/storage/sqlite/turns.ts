import type { Gate } from './line-book.js';

/** When which gate was last served, with what this claim adds; written down when its jobs are taken. */
export class Turns {
  readonly given = new Map<Gate, number>();
  #last: number;

  constructor(nowMs: number, last: number) {
    // Finer than a millisecond, and never twice the same.
    this.#last = Math.max(nowMs * 1024, last);
  }

  get last(): number {
    return this.#last;
  }

  of(gate: Gate): number {
    return this.given.get(gate) ?? gate.served;
  }

  give(gate: Gate): void {
    this.#last += 1;
    this.given.set(gate, this.#last);
  }
}
