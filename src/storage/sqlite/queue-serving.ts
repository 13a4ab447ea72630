import { dueOfKinds } from './candidates.js';
import type { Connection } from './connection.js';
import { Heap } from './heap.js';
import type { Kind } from './kinds.js';
import { aloneLine, ordinary } from './line-book.js';
import { firstOfStretch } from './queries/metered.js';
import {
  type Chosen,
  firstReady,
  GroupStream,
  isBefore,
  LineStream,
  OrdinaryStream,
  type Serving,
  type Stream,
  type Turns,
} from './streams.js';
import type { Stretch } from './stretches.js';
import type { Usage } from './usage.js';

export interface ServingOptions {
  readonly db: Connection;
  readonly queue: number;
  /** Of the queue, those that the worker may take. */
  readonly kinds: readonly Kind[];
  readonly nowMs: number;
  readonly usage: Usage;
  readonly turns: Turns;
  readonly isAlone: boolean;
}

/** One claim's choice of what may run of one queue, in the order of `streams.ts`. */
export class QueueServing {
  readonly #options: ServingOptions;
  readonly #lines: readonly LineStream[];
  readonly #streams: Heap<Stream>;
  #isOver = false;

  /** @param limit how many jobs will be chosen at most */
  constructor(options: ServingOptions, limit: number) {
    this.#options = options;
    const stretches = this.#waiting();
    const serving: Serving = { ...options, step: Math.ceil((1.25 * limit) / (stretches.length + 1)) + 1 };
    this.#lines = stretches.map((stretch) => new LineStream(stretch, serving));
    const streams = this.#inTurns();
    const plain = options.kinds.filter(({ requires }) => requires === null);
    if (plain.length > 0) streams.push(this.#ordinary(plain, serving, limit));
    this.#streams = new Heap(streams, isBefore);
  }

  /** There are jobs beside ordinary ones that may run. */
  get hasLines(): boolean {
    return this.#lines.length > 0;
  }

  /** A job could run that may not be chosen any more, since no slot is free for it: nothing goes past it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** @param places of how many at most a slot is free: only ordinary jobs may wait in a buffer */
  choose(limit: number, places: number): Chosen[] {
    const chosen: Chosen[] = [];
    while (chosen.length < limit) {
      const stream = firstReady(this.#streams);
      if (stream === undefined) break;
      if (stream.isMetered && chosen.length >= places) {
        this.#isOver = true;
        break;
      }
      chosen.push(stream.take());
    }
    return chosen;
  }

  /** What was learned of the lines, once the chosen jobs are taken. */
  remember(): void {
    const { db, isAlone } = this.#options;
    if (isAlone) return;
    for (const line of this.#lines) {
      if (!line.wasRead) continue;
      const { kind, line: ofStretch, rank } = line.stretch;
      const place = [kind.queueId, kind.id, ofStretch.id, rank] as const;
      const head = line.left ?? db.get<{ dueAt: number; id: string }>(firstOfStretch, ...place);
      db.stretches.moveHead(line.stretch, head);
    }
  }

  /** Keys of a group take turns; not those of jobs that must run alone, which are few and seldom. */
  #inTurns(): Stream[] {
    const { isAlone, turns } = this.#options;
    if (isAlone) return [...this.#lines];
    const [grouped, single] = [this.#lines.filter(hasGate), this.#lines.filter((line) => !hasGate(line))];
    return [...GroupStream.over(grouped, turns), ...single];
  }

  /** Lines that are due and have room. */
  #waiting(): Stretch[] {
    const { db, kinds, isAlone, nowMs, usage, queue } = this.#options;
    const waiting: Stretch[] = [];
    for (const kind of kinds) {
      if (kind.requires === null) continue;
      for (const stretch of isAlone ? db.stretches.alone(kind) : db.stretches.of(kind))
        if (stretch.dueAt <= nowMs && usage.fits(stretch.line, queue)) waiting.push(stretch);
    }
    return waiting;
  }

  #ordinary(kinds: readonly Kind[], serving: Serving, limit: number): OrdinaryStream {
    const { db, nowMs, isAlone, usage, queue } = this.#options;
    const line = isAlone ? aloneLine(ordinary.id) : ordinary.id;
    return new OrdinaryStream(dueOfKinds(db, kinds, { line, nowMs, limit }), serving, usage.isMetered(queue));
  }
}

const hasGate = ({ stretch }: LineStream): boolean => stretch.line.gate !== null;
