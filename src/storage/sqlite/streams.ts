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
import { type Candidate, dueOfRank } from './candidates.js';
import type { Connection } from './connection.js';
import { Heap } from './heap.js';
import { aloneLine, type Gate, type Line, ordinary } from './line-book.js';
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
  readonly turns: Turns;
  /** Of jobs that must run alone. */
  readonly isAlone: boolean;
  /** How many jobs of a line are read at a time. */
  readonly step: number;
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

export function isBefore(a: Stream, b: Stream): boolean {
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

/** When which gate was last served, with what this claim adds; written down when its jobs are taken. */
export class Turns {
  readonly given = new Map<Gate, number>();
  #last: number;

  constructor(nowMs: number, last: number) {
    // Finer than a millisecond, and never twice the same.
    this.#last = Math.max(nowMs * 1024, last);
  }

  get last(): number {
    return this.#last;
  }

  of(gate: Gate): number {
    return this.given.get(gate) ?? gate.served;
  }

  give(gate: Gate): void {
    this.#last += 1;
    this.given.set(gate, this.#last);
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

  /** Some of its jobs were read, so what is known of the stretch may be put right. */
  get wasRead(): boolean {
    return this.#jobs !== undefined;
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
    const { db, nowMs, isAlone, step } = this.#serving;
    const line = isAlone ? aloneLine(this.#line.id) : this.#line.id;
    return dueOfRank(db, this.stretch.kind, { line, rank: this.rank, nowMs, step });
  }
}

/** The lines of one gate at one rank. */
class Key {
  readonly gate: Gate;
  readonly lines: LineStream[] = [];
  #heap: Heap<LineStream> | undefined;

  constructor(gate: Gate) {
    this.gate = gate;
  }

  get first(): LineStream {
    this.#heap ??= new Heap(this.lines, isBefore);
    return (this.#heap.first ?? this.lines[0]) as LineStream;
  }

  look(): boolean {
    this.#heap ??= new Heap(this.lines, isBefore);
    return firstReady(this.#heap) !== undefined;
  }
}

/** Where a key stood when it was last looked at, which is never behind where it stands. */
class KeyPlace implements Pick<Stream, 'look'> {
  readonly key: Key;
  readonly #turns: Turns;
  served: number;
  dueAt: number;
  id: string;

  constructor(key: Key, turns: Turns) {
    this.key = key;
    this.#turns = turns;
    this.served = turns.of(key.gate);
    this.dueAt = key.first.dueAt;
    this.id = key.first.id;
  }

  look(): boolean {
    if (!this.key.look()) return false;
    this.served = this.#turns.of(this.key.gate);
    this.dueAt = this.key.first.dueAt;
    this.id = this.key.first.id;
    return true;
  }
}

const isDueBefore = (a: KeyPlace, b: KeyPlace): boolean =>
  a.dueAt === b.dueAt ? a.id < b.id : a.dueAt < b.dueAt;

const isServedBefore = (a: KeyPlace, b: KeyPlace): boolean =>
  a.served === b.served ? isDueBefore(a, b) : a.served < b.served;

/** The keys of one group at one rank: it stands where its first job stands, and gives the job of the key whose turn it is. */
export class GroupStream implements Stream {
  readonly rank: number;
  readonly isMetered = true;
  dueAt: number;
  id = noId;
  readonly #turns: Turns;
  readonly #places: Heap<KeyPlace>;
  readonly #order: Heap<KeyPlace>;

  private constructor(rank: number, keys: readonly Key[], turns: Turns) {
    this.rank = rank;
    this.#turns = turns;
    this.#places = new Heap(
      keys.map((key) => new KeyPlace(key, turns)),
      isDueBefore,
    );
    this.#order = new Heap(
      keys.map((key) => new KeyPlace(key, turns)),
      isServedBefore,
    );
    this.dueAt = this.#places.first?.dueAt ?? 0;
  }

  /** Streams over lines that all belong to groups. */
  static over(lines: readonly LineStream[], turns: Turns): GroupStream[] {
    const groups = new Map<string, Map<number, Key>>();
    for (const line of lines) {
      const gate = line.stretch.line.gate as Gate;
      const name = `${line.rank} ${gate.group}`;
      const keys = groups.get(name) ?? new Map<number, Key>();
      groups.set(name, keys);
      const key = keys.get(gate.id) ?? new Key(gate);
      keys.set(gate.id, key);
      key.lines.push(line);
    }
    return [...groups.values()].map((keys) => {
      const [first] = keys.values();
      return new GroupStream(first?.lines[0]?.rank ?? 0, [...keys.values()], turns);
    });
  }

  look(): boolean {
    const place = firstReady(this.#places);
    if (place === undefined) return false;
    ({ dueAt: this.dueAt, id: this.id } = place);
    return true;
  }

  take(): Chosen {
    // There is one: a look has found a key with a job that may run.
    const { key } = firstReady(this.#order) as KeyPlace;
    const chosen = key.first.take();
    this.#turns.give(key.gate);
    return chosen;
  }
}

function next<T>(iterator: Iterator<T>): T | undefined {
  const step = iterator.next();
  return step.done === true ? undefined : step.value;
}
