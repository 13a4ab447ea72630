import type { QueueOrder, QueuePart, Room } from './queue-order.js';

/** A queue is served only while those before it have nothing that can run: the order of storage itself. */
export class StrictOrder implements QueueOrder {
  readonly queues: readonly string[];
  #left: 'open' | 'started only' | 'empty' = 'open';

  constructor(queues: readonly string[]) {
    this.queues = queues;
  }

  get isEmpty(): boolean {
    return this.#left === 'empty';
  }

  wants({ start }: Room): boolean {
    return this.#left === 'open' || (this.#left === 'started only' && start > 0);
  }

  split(room: Room): QueuePart[] {
    if (!this.wants(room)) return [];
    const limit = this.#left === 'open' ? room.limit : room.start;
    return [{ queues: this.queues, limit, start: room.start }];
  }

  learn({ limit, start }: QueuePart, got: readonly unknown[]): void {
    if (got.length >= limit) return;
    this.#left = start > 0 && got.length < start ? 'empty' : 'started only';
  }

  noteGiven(): void {
    // The order of the queues is the same, whatever came.
  }

  open(): void {
    this.#left = 'open';
  }
}
