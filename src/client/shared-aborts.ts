/**
 * What to do when a signal fires, for any number of takers with one listener each signal: a listener for each would warn
 * beyond ten, and adding and removing thousands walks the list of them all every time.
 */
export class SharedAborts {
  readonly #entries = new Map<
    AbortSignal,
    { readonly takers: Set<() => void>; readonly listener: () => void }
  >();

  /** Calls `taker` when the signal fires, at most once; `remove` takes it back. */
  add(signal: AbortSignal, taker: () => void): void {
    const known = this.#entries.get(signal);
    if (known !== undefined) {
      known.takers.add(taker);
      return;
    }
    const takers = new Set([taker]);
    const listener = (): void => {
      this.#entries.delete(signal);
      for (const each of takers) each();
    };
    this.#entries.set(signal, { takers, listener });
    signal.addEventListener('abort', listener, { once: true });
  }

  remove(signal: AbortSignal, taker: () => void): void {
    const entry = this.#entries.get(signal);
    if (entry === undefined) return;
    entry.takers.delete(taker);
    if (entry.takers.size > 0) return;
    this.#entries.delete(signal);
    signal.removeEventListener('abort', entry.listener);
  }
}
