/** A bucket that fills at a steady rate and empties by one a message. */
export class MessageRate {
  readonly #perSecond: number;
  readonly #burst: number;
  #level: number;
  #atMs: number;

  constructor({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#level = burst;
    this.#atMs = nowMs;
  }

  /** False: too many of late. */
  allows(nowMs: number): boolean {
    const sinceMs = Math.max(nowMs - this.#atMs, 0);
    this.#level = Math.min(this.#burst, this.#level + (sinceMs / 1_000) * this.#perSecond);
    this.#atMs = nowMs;
    if (this.#level < 1) return false;
    this.#level -= 1;
    return true;
  }
}
