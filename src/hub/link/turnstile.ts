/** Lets one task in at a time, in the order they came. */
export class Turnstile {
  #tail: Promise<void> = Promise.resolve();
  #size = 0;

  /** Tasks inside and in front. */
  get size(): number {
    return this.#size;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    this.#size += 1;
    const done = this.#tail.then(task);
    const leave = (): void => {
      this.#size -= 1;
    };
    this.#tail = done.then(leave, leave);
    return done;
  }

  /** Resolves once all that came before has left; never rejects. */
  idle(): Promise<void> {
    return this.#tail;
  }
}
