/** A value that is read at most once in `forMs`, however many ask, and never twice at a time. */
export class SharedReading<T> {
  readonly #read: () => Promise<T>;
  readonly #forMs: number;
  #last: { readonly value: Promise<T>; readonly atMs: number } | null = null;
  #isReading = false;

  constructor(read: () => Promise<T>, forMs: number) {
    this.#read = read;
    this.#forMs = forMs;
  }

  get(): Promise<T> {
    const nowMs = performance.now();
    if (this.#last !== null && (this.#isReading || nowMs - this.#last.atMs < this.#forMs)) {
      return this.#last.value;
    }
    this.#isReading = true;
    const value = this.#read().finally(() => {
      this.#isReading = false;
    });
    this.#last = { value, atMs: nowMs };
    return value;
  }
}
