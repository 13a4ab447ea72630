import { dueOfKinds } from './candidates.js';
import type { Connection } from './connection.js';
import { GroupStream, groupStreams } from './group-stream.js';
import { Heap } from './heap.js';
import type { Kind } from './kinds.js';
import { aloneLine, ordinary } from './line-book.js';
import { firstOfStretch } from './queries/metered.js';
import {
  type Chosen,
  firstReady,
  isBefore,
  LineStream,
  OrdinaryStream,
  type Serving,
  type Stream,
} from './streams.js';
import type { Stretch } from './stretches.js';
import type { Turns } from './turns.js';
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
  readonly #serving: Serving;
  readonly #streams: Heap<Stream>;
  /** There are jobs beside ordinary ones that may run. */
  readonly hasLines: boolean;
  #isOver = false;

  /** @param limit how many jobs will be chosen at most */
  constructor(options: ServingOptions, limit: number) {
    this.#options = options;
    const waiting = this.#waiting();
    const step = Math.ceil((1.25 * limit) / (waiting.length + 1)) + 1;
    this.#serving = { ...options, step, read: [] };
    this.hasLines = waiting.length > 0;
    const streams = this.#inTurns(waiting);
    const plain = options.kinds.filter(({ requires }) => requires === null);
    if (plain.length > 0) streams.push(this.#ordinary(plain, limit));
    const [first] = streams;
    if (first instanceof GroupStream) first.isOnly = streams.length === 1;
    this.#streams = new Heap(streams, isBefore);
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
    for (const line of this.#serving.read) {
      const { kind, line: ofStretch, rank } = line.stretch;
      const place = [kind.queueId, kind.id, ofStretch.id, rank] as const;
      const head = line.left ?? db.get<{ dueAt: number; id: string }>(firstOfStretch, ...place);
      db.stretches.moveHead(line.stretch, head);
    }
  }

  /** Keys of a group take turns; not those of jobs that must run alone, which are few and seldom. */
  #inTurns(waiting: readonly Stretch[]): Stream[] {
    const { isAlone, turns } = this.#options;
    const inGroups = isAlone ? [] : waiting.filter(hasGate);
    const others = isAlone ? waiting : waiting.filter((stretch) => !hasGate(stretch));
    return [
      ...groupStreams(inGroups, { serving: this.#serving, turns }),
      ...others.map((stretch) => new LineStream(stretch, this.#serving)),
    ];
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

  #ordinary(kinds: readonly Kind[], limit: number): OrdinaryStream {
    const { db, nowMs, isAlone, usage, queue } = this.#options;
    const line = isAlone ? aloneLine(ordinary.id) : ordinary.id;
    const jobs = dueOfKinds(db, kinds, { line, nowMs, limit });
    return new OrdinaryStream(jobs, this.#serving, usage.isMetered(queue));
  }
}

const hasGate = ({ line }: Stretch): boolean => line.gate !== null;
