/** A listener of one event. What it returns is ignored, but a rejection is reported. */
export type EventListener<Payload> = (payload: Payload) => unknown;

export interface TypedEventsOptions {
  /** Receives what a listener threw or rejected with, and the name of its event. */
  readonly onError: (error: unknown, event: string) => void;
}

/**
 * Events by name, each with one typed payload. Listeners are called in the order they were added,
 * at once; one that throws or rejects never reaches the emitter nor keeps the others from being
 * called. A listener added during an emit does not see that emit.
 */
export class TypedEvents<Events extends object> {
  readonly #listeners = new Map<keyof Events, readonly EventListener<never>[]>();
  readonly #onError: TypedEventsOptions['onError'];

  constructor(options: TypedEventsOptions) {
    this.#onError = options.onError;
  }

  /** Adds a listener; the answer removes it again. The same function added twice is called twice. */
  on<Name extends keyof Events>(name: Name, listener: EventListener<Events[Name]>): () => void {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
    let isOn = true;
    return () => {
      if (isOn) this.off(name, listener);
      isOn = false;
    };
  }

  /** Adds a listener for the next emit only. */
  once<Name extends keyof Events>(name: Name, listener: EventListener<Events[Name]>): () => void {
    const remove = this.on(name, (payload) => {
      remove();
      return listener(payload);
    });
    return remove;
  }

  /** Removes one addition of this listener; without effect when there is none. */
  off<Name extends keyof Events>(name: Name, listener: EventListener<Events[Name]>): void {
    const listeners = this.#listeners.get(name) ?? [];
    const index = listeners.indexOf(listener);
    if (index >= 0) this.#listeners.set(name, listeners.toSpliced(index, 1));
  }

  /** Calls every listener of this event. Never throws. */
  emit<Name extends keyof Events>(name: Name, payload: Events[Name]): void {
    const listeners = this.#listeners.get(name);
    if (listeners === undefined) return;
    for (const listener of listeners as readonly EventListener<Events[Name]>[]) {
      try {
        const returned = listener(payload);
        if (returned instanceof Promise) {
          returned.catch((error: unknown) => this.#report(error, String(name)));
        }
      } catch (error) {
        this.#report(error, String(name));
      }
    }
  }

  /** How many listeners an event has; costly payloads need not be made for none. */
  listenerCount(name: keyof Events): number {
    return this.#listeners.get(name)?.length ?? 0;
  }

  /** Removes every listener. */
  clear(): void {
    this.#listeners.clear();
  }

  #report(error: unknown, event: string): void {
    try {
      this.#onError(error, event);
    } catch {
      // The last line of defence: an error handler that throws must not end the emitter.
    }
  }
}
