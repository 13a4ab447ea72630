/*
 * Which lines have jobs that could run, for one kind of take, as seen a moment ago: kept for 250 ms, so that lines that
 * can't go on cost a busy worker next to nothing. It is advice. What it says too much is found out by the claim, which
 * counts under locks; what it misses is found by looking again, which a claim does before it answers with less than it
 * was asked for.
 *
 * One look goes through at most 1,000 lines of a queue's, and the next one goes on from there: where more wait than that,
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
const linesPerLook = 1_000;

export class LineView {
  readonly #take: Pick<Take, 'queues' | 'names'>;
  readonly #bounds: LineBounds;
  #lines: readonly SeenLine[] = [];
  /** Those with jobs that wait, whether one of them is due and of a known name or not. */
  #waiting: readonly { readonly queue: string; readonly line: number }[] = [];
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

  /** Whether it was looked at since then. */
  isSeenSince(ms: number): boolean {
    return this.#seenAtMs >= ms;
  }

  /** Lines with jobs that wait, due or not, as far as the last look went. */
  get waiting(): readonly { readonly queue: string; readonly line: number }[] {
    return this.#waiting;
  }

  get hasLines(): boolean {
    return this.#waiting.length > 0 || !this.#isWhole;
  }

  /** Lines that could give something, in no order. */
  *open(): Generator<SeenLine> {
    for (const seen of this.#lines) {
      const key = keyOf(seen);
      if (!this.#empty.has(key) && !this.#full.has(key)) yield seen;
    }
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
    const queues = [...new Set(this.#take.queues)];
    const startedAtMs = performance.now();
    const rows = await executor.run(queries.scan, [
      textArray(queues),
      `{${queues.map((queue) => this.#after.get(queue) ?? this.#bounds.above).join(',')}}`,
      textArray(this.#take.names),
      this.#bounds.below,
      offsetMs,
      linesPerLook,
    ]);
    this.#isWhole = this.#after.size === 0;
    this.#after = new Map();
    const lines: SeenLine[] = [];
    const waiting: { queue: string; line: number }[] = [];
    for (const [ord, line, rank, due, id, served] of rows) {
      const queue = queues[intOf(ord) - 1] ?? '';
      if (rows.length >= linesPerLook) this.#after.set(queue, intOf(line));
      waiting.push({ queue, line: intOf(line) });
      if (due === null) continue;
      lines.push({
        queue,
        line: intOf(line),
        rank: intOf(rank),
        due: intOf(due),
        id: textOf(id),
        served: intOrNull(served) ?? 0,
      });
    }
    this.#waiting = waiting;
    this.#lines = lines;
    this.#empty.clear();
    this.#full.clear();
    this.#seenAtMs = startedAtMs;
    this.#offsetMs = offsetMs;
  }
}

const keyOf = ({ queue, line }: { readonly queue: string; readonly line: number }): string =>
  `${line} ${queue}`;
