/**
 * MySQL and MariaDB push nothing: what this process writes wakes its own watchers, everything else is found by polling
 * (`capabilities.push` is false).
 */
export class Notifier {
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

  /** Told after a commit; an empty list wakes nobody, null all. */
  wake(queues: readonly string[] | null): void {
    if (this.#watchers.size === 0 || queues?.length === 0) return;
    queueMicrotask(() => {
      for (const watcher of [...this.#watchers]) watcher(queues);
    });
  }

  close(): void {
    this.#watchers.clear();
  }
}
