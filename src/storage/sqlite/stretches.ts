/*
 * Where jobs wait in lines: a *stretch* is a line and rank of a kind in which jobs wait, with the time at which the first
 * of them is due. A claim needs all of them, to find what is first among a thousand tenants, and reading each costs a
 * seek. So they are remembered from claim to claim.
 *
 * What is remembered is a hint. A claim takes only jobs that it has read in its own transaction, so a stretch whose first
 * job has gone costs a look and nothing else. What must not happen is that jobs which wait are not seen: therefore what
 * this process adds is noted, and what it moves otherwise, or another process commits (`data_version` tells), makes the
 * stretches be read again: at once where they are few, else when the last reading is fifty times as old as it took, after
 * 250 ms in any case, and always before a claim answers with less than it was asked for.
 *
 * At most 1,000 stretches of a kind are remembered. Where there are more, each reading goes on behind the last one, so
 * every line has its turn.
 */
import { inClaimOrder, type Place } from './candidates.js';
import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import { type Line, ownLine } from './line-book.js';
import * as sql from './queries/metered.js';

export interface Stretch {
  readonly kind: Kind;
  readonly line: Line;
  readonly rank: number;
  /** Where the first of its jobs stands, or before that. */
  dueAt: number;
  id: string;
}

type Mark = readonly [line: number, rank: number];

/** Before every line but 0, whose jobs are ordinary. */
const front: Mark = [0, Number.MAX_SAFE_INTEGER];
const beforeAlone: Mark = [Number.MIN_SAFE_INTEGER, 0];
const lastAlone: Mark = [-1, Number.MAX_SAFE_INTEGER];
const end: Mark = [Number.MAX_SAFE_INTEGER, 0];

interface Window {
  readonly stretches: Map<string, Stretch>;
  /** There are no others. */
  isWhole: boolean;
  /** Something was moved here that may not be seen. */
  isChanged: boolean;
  version: number;
  readAtMs: number;
  tookMs: number;
  /** The last one that was read. */
  cursor: Mark;
}

const mostStretches = 1_000;
/** So many are read again whenever something may have changed. */
const mostAlone = 10_000;
const fewStretches = 64;
const oldestMs = 250;
const readingShare = 50;

const dataVersion = 'pragma data_version';

export class Stretches {
  readonly #db: Connection;
  readonly #windows = new Map<number, Window>();

  constructor(db: Connection) {
    this.#db = db;
  }

  /** Those of a kind that are known, read again if they are too old. */
  of(kind: Kind): Iterable<Stretch> {
    const known = this.#windows.get(kind.id);
    const window = known === undefined || this.#isTooOld(known) ? this.#read(kind, known) : known;
    return window.stretches.values();
  }

  /** Whether nothing waits of the kind but what `of` gave. */
  isExact(kind: Kind): boolean {
    const window = this.#windows.get(kind.id);
    return window?.isWhole === true && !this.#mayHaveChanged(window);
  }

  /** Reads again what may have changed, and the next ones where there are more than are remembered. */
  refresh(kind: Kind): void {
    if (!this.isExact(kind)) this.#read(kind, this.#windows.get(kind.id));
  }

  /** Those of a kind whose jobs must run alone. They are few, and so read anew each time. */
  alone(kind: Kind): Stretch[] {
    const { lines } = this.#db;
    const tuples = this.#tuples(kind, beforeAlone, lastAlone, mostAlone);
    lines.load(tuples.map(([line]) => ownLine(line)));
    return tuples.map(([line, rank, dueAt, id]) => ({
      kind,
      line: lines.byId(ownLine(line)),
      rank,
      dueAt,
      id,
    }));
  }

  /** A job was added. */
  note(kind: Kind, line: number, place: Place): void {
    const window = this.#windows.get(kind.id);
    if (window === undefined) return;
    const key = keyOf(line, place.rank);
    const known = window.stretches.get(key);
    if (known !== undefined) {
      if (inClaimOrder(place, known) < 0) Object.assign(known, place);
    } else if (window.stretches.size < mostStretches)
      window.stretches.set(key, { kind, line: this.#db.lines.byId(line), ...place });
    else window.isWhole = false;
  }

  /** Jobs were taken, or none was found: so stands the first that is left; undefined = none is. */
  moveHead(stretch: Stretch, head: { readonly dueAt: number; readonly id: string } | undefined): void {
    if (head === undefined)
      this.#windows.get(stretch.kind.id)?.stretches.delete(keyOf(stretch.line.id, stretch.rank));
    else [stretch.dueAt, stretch.id] = [head.dueAt, head.id];
  }

  /** Jobs of the kind may have come to wait elsewhere than before. */
  changed(kind: number): void {
    const window = this.#windows.get(kind);
    if (window !== undefined) window.isChanged = true;
  }

  forget(): void {
    this.#windows.clear();
  }

  #isTooOld(window: Window): boolean {
    const isExact = window.isWhole && !this.#mayHaveChanged(window);
    if (isExact) return false;
    if (window.isWhole && window.stretches.size <= fewStretches) return true;
    const ageMs = performance.now() - window.readAtMs;
    return ageMs >= oldestMs || (this.#mayHaveChanged(window) && ageMs >= window.tookMs * readingShare);
  }

  #mayHaveChanged(window: Window): boolean {
    return window.isChanged || window.version !== this.#version();
  }

  #version(): number {
    return this.#db.value<number>(dataVersion) ?? 0;
  }

  #read(kind: Kind, last: Window | undefined): Window {
    const startedAtMs = performance.now();
    const from = last === undefined || last.isWhole ? front : last.cursor;
    const tuples = this.#tuples(kind, from, end, mostStretches);
    // Round and on from the front, up to where it began.
    if (from !== front) tuples.push(...this.#tuples(kind, front, from, mostStretches - tuples.length));
    const [line, rank] = tuples.at(-1) ?? front;
    const window: Window = {
      stretches: this.#stretches(kind, tuples),
      isWhole: tuples.length < mostStretches,
      isChanged: false,
      version: this.#version(),
      readAtMs: startedAtMs,
      tookMs: performance.now() - startedAtMs,
      cursor: [line, rank],
    };
    this.#windows.set(kind.id, window);
    return window;
  }

  #tuples(kind: Kind, after: Mark, upTo: Mark, most: number): sql.StretchTuple[] {
    const tuples: sql.StretchTuple[] = [];
    let [line, rank] = after;
    while (tuples.length < most) {
      const [next] = this.#db.tuples<sql.StretchTuple>(sql.nextStretch, kind.queueId, kind.id, line, rank);
      if (next === undefined || isAfter(next, upTo)) break;
      tuples.push(next);
      [line, rank] = next;
    }
    return tuples;
  }

  #stretches(kind: Kind, tuples: readonly sql.StretchTuple[]): Map<string, Stretch> {
    const { lines } = this.#db;
    lines.load(tuples.map(([line]) => line));
    const stretches = new Map<string, Stretch>();
    for (const [lineId, rank, dueAt, id] of tuples) {
      stretches.set(keyOf(lineId, rank), { kind, line: lines.byId(lineId), rank, dueAt, id });
    }
    lines.refreshServed([...stretches.values()].map(({ line }) => line));
    return stretches;
  }
}

const keyOf = (line: number, rank: number): string => `${line} ${rank}`;

const isAfter = ([line, rank]: sql.StretchTuple, [otherLine, otherRank]: Mark): boolean =>
  line > otherLine || (line === otherLine && rank > otherRank);
