/*
 * The order in which a claim serves what waits in one queue, where not all of it may run.
 *
 * Each *stream* gives jobs in its own order: ordinary jobs, a line, a key of a group, a group. The claim takes from the
 * stream whose first job has the best place (rank, due time, id). A group rotates between its keys: of those that have a
 * job of that rank which may run, the one served longest ago is next, whatever the due times; inside a key, order is by
 * due time. What may not run at this moment is no stream's first job, so it hides nothing.
 *
 * A stream is read when its turn comes and not before: until then it stands at its best possible place. What a claim
 * takes only ever uses up room, so what does not fit once is not looked at again by the same claim.
 */
import { type Candidate, dueOfRank, type Place } from './candidates.js';
import type { Connection } from './connection.js';
import type { Heap } from './heap.js';
import { aloneLine, type Line, ordinary } from './line-book.js';
import type { Stretch } from './stretches.js';
import type { Usage } from './usage.js';

/** A job that a claim is to take. */
export interface Chosen {
  readonly row: number;
  /** It can't wait in a buffer. */
  readonly isMetered: boolean;
}

/** What the streams of one queue share. */
export interface Serving {
  readonly db: Connection;
  readonly queue: number;
  readonly nowMs: number;
  readonly usage: Usage;
  /** Of jobs that must run alone. */
  readonly isAlone: boolean;
  /** How many jobs of a line are read at a time. */
  readonly step: number;
  /** Those of which jobs were read. */
  readonly read: LineStream[];
}

export interface Stream {
  /** Its jobs can't wait in a buffer. */
  readonly isMetered: boolean;
  rank: number;
  dueAt: number;
  id: string;
  /** Finds its first job; false: it has none that may run. Its place may be a later one than before. */
  look(): boolean;
  /** Takes the first job, which has been looked at. */
  take(): Chosen;
}

/** Before every id. */
const noId = '';

export function isBefore(a: Place, b: Place): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.dueAt === b.dueAt ? a.id < b.id : a.dueAt < b.dueAt;
}

/** The stream to take from next. */
export function firstReady<S extends Pick<Stream, 'look'>>(heap: Heap<S>): S | undefined {
  for (;;) {
    const { first } = heap;
    if (first === undefined) return undefined;
    if (first.look()) {
      heap.moveFirst();
      if (heap.first === first) return first;
    } else heap.dropFirst();
  }
}

export class OrdinaryStream implements Stream {
  rank = Number.NEGATIVE_INFINITY;
  dueAt = 0;
  id = noId;
  readonly #jobs: Iterator<Candidate>;
  readonly isMetered: boolean;
  readonly #serving: Serving;
  #first: Candidate | undefined;

  constructor(jobs: Iterable<Candidate>, serving: Serving, isMetered: boolean) {
    this.#jobs = jobs[Symbol.iterator]();
    this.#serving = serving;
    this.isMetered = isMetered;
  }

  look(): boolean {
    const { usage, queue } = this.#serving;
    if (this.isMetered && !usage.fits(ordinary, queue)) return false;
    this.#first ??= next(this.#jobs);
    if (this.#first === undefined) return false;
    ({ rank: this.rank, dueAt: this.dueAt, id: this.id } = this.#first);
    return true;
  }

  take(): Chosen {
    const { row } = this.#first as Candidate;
    this.#first = undefined;
    if (this.isMetered) this.#serving.usage.add(ordinary, this.#serving.queue);
    return { row, isMetered: this.isMetered };
  }
}

export class LineStream implements Stream {
  readonly isMetered = true;
  readonly rank: number;
  dueAt: number;
  id = noId;
  readonly stretch: Stretch;
  readonly #line: Line;
  readonly #serving: Serving;
  #jobs: Iterator<Candidate> | undefined;
  #first: Candidate | undefined;

  constructor(stretch: Stretch, serving: Serving) {
    this.stretch = stretch;
    this.rank = stretch.rank;
    this.dueAt = stretch.dueAt;
    this.id = stretch.id;
    this.#line = stretch.line;
    this.#serving = serving;
  }

  /** The first job that was read and not taken. */
  get left(): Candidate | undefined {
    this.#first ??= this.#next();
    return this.#first;
  }

  look(): boolean {
    if (!this.#serving.usage.fits(this.#line, this.#serving.queue)) return false;
    this.#first ??= this.#next();
    if (this.#first === undefined) return false;
    ({ dueAt: this.dueAt, id: this.id } = this.#first);
    return true;
  }

  take(): Chosen {
    const { usage, queue } = this.#serving;
    const { row } = this.#first as Candidate;
    this.#first = undefined;
    usage.add(this.#line, queue);
    return { row, isMetered: true };
  }

  #next(): Candidate | undefined {
    this.#jobs ??= this.#dueJobs();
    return next(this.#jobs);
  }

  #dueJobs(): Iterator<Candidate> {
    const { db, nowMs, isAlone, step, read } = this.#serving;
    read.push(this);
    const line = isAlone ? aloneLine(this.#line.id) : this.#line.id;
    return dueOfRank(db, this.stretch.kind, { line, rank: this.rank, nowMs, step });
  }
}

function next<T>(iterator: Iterator<T>): T | undefined {
  const step = iterator.next();
  return step.done === true ? undefined : step.value;
}
