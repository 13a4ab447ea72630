import type { SentMessage } from './hub-connection.js';
import type { HubRequest } from './hub-link-messages.js';

export interface OpenRequest {
  readonly type: HubRequest['type'] | 'goodbye';
  /** Main's own number for it; null: it is not main's. */
  readonly key: number | null;
  readonly hasWant: boolean;
  readonly onEnd: () => void;
}

/** What was sent on the present connection and is not answered. */
export class OpenRequests {
  readonly #open = new Map<number, OpenRequest & { readonly sent: SentMessage }>();

  /** When the oldest heartbeat without an answer was sent; null: all were answered. */
  get oldestBeatAtMs(): number | null {
    for (const { type, sent } of this.#open.values()) if (type === 'beat') return sent.atMs;
    return null;
  }

  add(sent: SentMessage, request: OpenRequest): void {
    this.#open.set(sent.id, { ...request, sent });
  }

  get(id: number): (OpenRequest & { readonly sent: SentMessage }) | null {
    return this.#open.get(id) ?? null;
  }

  /** False: it was not open. */
  delete(id: number): boolean {
    const request = this.#open.get(id);
    if (request === undefined) return false;
    this.#open.delete(id);
    request.onEnd();
    return true;
  }

  /** The connection is over. */
  endAll(refuse: (key: number) => void): void {
    const ended = [...this.#open.values()];
    this.#open.clear();
    for (const { key, onEnd } of ended) {
      onEnd();
      if (key !== null) refuse(key);
    }
  }
}
