/** Lets others wait for the next change of a worker: a slot that became free, a result acknowledged, an end. */
export class Changes {
  #waiters: (() => void)[] = [];

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
    });
  }

  tell(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }
}
