/** Tells watchers, after the call that changed something has returned. */
export class WakeUps {
  readonly #watchers = new Set<(queues: readonly string[] | null) => void>();

  watch(onWake: (queues: readonly string[] | null) => void): AsyncDisposable {
    // A function of its own, so that the same listener can watch twice.
    const watcher = (queues: readonly string[] | null): void => onWake(queues);
    this.#watchers.add(watcher);
    return {
      [Symbol.asyncDispose]: () => {
        this.#watchers.delete(watcher);
        return Promise.resolve();
      },
    };
  }

  wake(queues: readonly string[]): void {
    if (this.#watchers.size === 0) return;
    queueMicrotask(() => {
      for (const watcher of [...this.#watchers]) watcher(queues);
    });
  }

  close(): void {
    this.#watchers.clear();
  }
}
