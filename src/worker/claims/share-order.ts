import { QueueShares } from '../../core/queue-shares.js';
import type { ClaimedJob } from '../../storage/claimed-job.js';
import type { QueueOrder, QueuePart, Room } from './queue-order.js';

export interface ShareOrderOptions {
  readonly weights: Iterable<readonly [string, number]>;
  /** After so long what a queue was found to lack is asked for again, without a wake-up. */
  readonly forgetMs: number;
  readonly now: () => number;
}

interface Mark {
  readonly left: 'started only' | 'empty';
  readonly sinceMs: number;
}

/**
 * Each queue has a share of the jobs. A claim gives every queue whose turn it is a part of its own; where there are more
 * queues than parts, the rest stand behind those and get what these leave, so that one claim finds what there is.
 */
export class ShareOrder implements QueueOrder {
  readonly #options: ShareOrderOptions;
  readonly #shares = new QueueShares();
  readonly #marks = new Map<string, Mark>();
  #queues: readonly string[] = [];

  constructor(options: ShareOrderOptions) {
    this.#options = options;
    this.setWeights(options.weights);
  }

  get queues(): readonly string[] {
    return this.#queues;
  }

  get isEmpty(): boolean {
    if (this.#marks.size < this.#queues.length) return false;
    return this.#queues.every((queue) => this.#marks.get(queue)?.left === 'empty');
  }

  /** Queues that join are asked at once. */
  setWeights(weights: Iterable<readonly [string, number]>): void {
    const list = [...weights];
    this.#shares.setWeights(list);
    this.#queues = list.map(([queue]) => queue);
    const known = new Set(this.#queues);
    for (const queue of this.#marks.keys()) if (!known.has(queue)) this.#marks.delete(queue);
  }

  wants({ start }: Room): boolean {
    if (this.#marks.size < this.#queues.length) return true;
    return start > 0 && !this.isEmpty;
  }

  split(room: Room, mostParts: number): QueuePart[] {
    this.#forget();
    const inTurn = this.#shares.inTurn(this.#queues.filter((queue) => this.#mayBring(queue, room)));
    const heads = inTurn.slice(0, mostParts);
    const parts = this.#shares
      .split(heads, room, (queue) => this.#marks.get(queue) === undefined)
      .map(({ queue, limit, start }) => ({ queues: [queue], limit, start }));
    if (parts.length === 0) return [];
    const served = new Set(parts.flatMap(({ queues }) => queues));
    inTurn
      .filter((queue) => !served.has(queue))
      .forEach((queue, index) => {
        parts[index % parts.length]?.queues.push(queue);
      });
    return parts;
  }

  learn(part: QueuePart, got: readonly Pick<ClaimedJob, 'queue'>[]): void {
    this.noteGiven(got);
    const isFull = got.length >= part.limit;
    const last = got.at(-1);
    // Strict order within the part: it went on to a later queue only when an earlier one had nothing more.
    const lastIndex = last === undefined ? 0 : part.queues.indexOf(last.queue);
    const isEmpty = part.start > 0 && got.length < part.start;
    part.queues.forEach((queue, index) => {
      if (index < lastIndex || (!isFull && isEmpty)) this.#mark(queue, 'empty');
      else if (!isFull) this.#mark(queue, 'started only');
    });
  }

  noteGiven(jobs: readonly Pick<ClaimedJob, 'queue'>[]): void {
    const counts = new Map<string, number>();
    for (const { queue } of jobs) counts.set(queue, (counts.get(queue) ?? 0) + 1);
    for (const [queue, count] of counts) this.#shares.took(queue, count);
  }

  open(queues: readonly string[] | null): void {
    if (queues === null) this.#marks.clear();
    else for (const queue of queues) this.#marks.delete(queue);
  }

  #mayBring(queue: string, { start }: Room): boolean {
    const left = this.#marks.get(queue)?.left;
    return left === undefined || (left === 'started only' && start > 0);
  }

  #mark(queue: string, left: Mark['left']): void {
    this.#marks.set(queue, { left, sinceMs: this.#options.now() });
  }

  #forget(): void {
    const { forgetMs, now } = this.#options;
    const before = now() - forgetMs;
    for (const [queue, { sinceMs }] of this.#marks) if (sinceMs <= before) this.#marks.delete(queue);
  }
}
