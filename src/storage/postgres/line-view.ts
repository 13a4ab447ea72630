/*
 * Which lines have jobs that could run, for one kind of take, as seen a moment ago: kept for 250 ms, so that lines that
 * can't go on cost a busy worker next to nothing. It is advice. What it says too much is found out by the claim, which
 * counts under locks; what it misses is found by looking again, which a claim does before it answers with less than it
 * was asked for.
 *
 * One look goes through at most 1,200 lines, and the next one goes on from there: where more wait than that,
 * each has its turn.
 */

import type { Take } from '../claimed-job.js';
import { textArray } from './arrays.js';
import type { BoundedClaimQueries } from './queries/bounded-claim.js';
import { type Executor, intOf, intOrNull, textOf } from './statement.js';

/** A line with a job that is due and of a known name. */
export interface SeenLine {
  readonly queue: string;
  readonly line: number;
  readonly rank: number;
  readonly due: number;
  readonly id: string;
  /** Last turn of its key, 0 = never. */
  readonly served: number;
}

export interface LineBounds {
  readonly above: number;
  readonly below: number;
}

/** Lines of jobs that run beside others, and of those that run alone (the ordinary line among them). */
export const sharedLines: LineBounds = { above: 0, below: 2_147_483_647 };
export const aloneLines: LineBounds = { above: -2_147_483_648, below: 0 };

const keptMs = 250;
const linesPerLook = 1_200;

export class LineView {
  readonly #take: Pick<Take, 'queues' | 'names'>;
  readonly #bounds: LineBounds;
  readonly #lines = new Map<string, SeenLine>();
  /** Those with jobs that wait, whether one of them is due and of a known name or not. */
  readonly #waiting = new Map<string, { readonly queue: string; readonly line: number }>();
  #seenAtMs = Number.NEGATIVE_INFINITY;
  #offsetMs = 0;
  /** After which line the next look goes on, by queue. */
  #after = new Map<string, number>();
  /** Known not to give anything: until the next look, or until something has changed. */
  readonly #empty = new Set<string>();
  readonly #full = new Set<string>();
  #isWhole = true;

  constructor(take: Pick<Take, 'queues' | 'names'>, bounds: LineBounds) {
    this.#take = take;
    this.#bounds = bounds;
  }

  isFresh(offsetMs: number): boolean {
    return this.#offsetMs === offsetMs && performance.now() - this.#seenAtMs < keptMs;
  }

  /** Whether all lines were looked at since then. */
  isSeenSince(ms: number): boolean {
    return this.#isWhole && this.#seenAtMs >= ms;
  }

  /** Lines with jobs that wait, due or not, as far as the last look went. */
  get waiting(): { readonly queue: string; readonly line: number }[] {
    return [...this.#waiting.values()];
  }

  get hasLines(): boolean {
    return this.#waiting.size > 0 || !this.#isWhole;
  }

  /** Lines that could give something, in no order. */
  *open(): Generator<SeenLine> {
    for (const [key, seen] of this.#lines) {
      if (!this.#empty.has(key) && !this.#full.has(key)) yield seen;
    }
  }

  /** Whether one of them is so. */
  some(isSo: (seen: SeenLine) => boolean): boolean {
    for (const seen of this.open()) if (isSo(seen)) return true;
    return false;
  }

  noteEmpty(seen: { readonly queue: string; readonly line: number }): void {
    this.#empty.add(keyOf(seen));
  }

  noteFull(seen: { readonly queue: string; readonly line: number }): void {
    this.#full.add(keyOf(seen));
  }

  /** Something ended: there may be room. */
  noteRoom(): void {
    this.#full.clear();
  }

  async look(executor: Executor, queries: BoundedClaimQueries, offsetMs: number): Promise<void> {
    const startedAtMs = performance.now();
    const from = this.#after;
    this.#after = new Map();
    this.#lines.clear();
    this.#waiting.clear();
    this.#empty.clear();
    this.#full.clear();
    const read = await this.#scan(executor, queries, { from, limit: linesPerLook, offsetMs });
    this.#isWhole = read < linesPerLook && from.size === 0;
    // It has come to the end from somewhere in the middle: the rest is what stands before that.
    if (from.size > 0 && read < linesPerLook) {
      const limit = linesPerLook - read;
      await this.#scan(executor, queries, { from: new Map(), limit, offsetMs });
    }
    this.#seenAtMs = startedAtMs;
    this.#offsetMs = offsetMs;
  }

  async #scan(
    executor: Executor,
    queries: BoundedClaimQueries,
    { from, limit, offsetMs }: { from: ReadonlyMap<string, number>; limit: number; offsetMs: number },
  ): Promise<number> {
    const queues = [...new Set(this.#take.queues)];
    const rows = await executor.run(queries.scan, [
      textArray(queues),
      `{${queues.map((queue) => from.get(queue) ?? this.#bounds.above).join(',')}}`,
      textArray(this.#take.names),
      this.#bounds.below,
      offsetMs,
      limit,
    ]);
    for (const [ord, line, rank, due, id, served] of rows) {
      const seen = { queue: queues[intOf(ord) - 1] ?? '', line: intOf(line) };
      if (rows.length >= limit) this.#after.set(seen.queue, seen.line);
      const key = keyOf(seen);
      this.#waiting.set(key, seen);
      if (due === null) continue;
      const head = { rank: intOf(rank), due: intOf(due), id: textOf(id) };
      this.#lines.set(key, { ...seen, ...head, served: intOrNull(served) ?? 0 });
    }
    return rows.length;
  }
}

const keyOf = ({ queue, line }: { readonly queue: string; readonly line: number }): string =>
  `${line} ${queue}`;
