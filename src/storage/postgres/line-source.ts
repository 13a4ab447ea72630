import type { Candidate, LineOfJobs } from '../choose-jobs.js';
import type { Occupancy } from '../occupancy.js';
import type { BoundLine } from './line-book.js';

/** The jobs of one line in one queue, for one take. */
export interface LineSource {
  readonly take: number;
  readonly queue: string;
  /** As in the index: 0, the id of a line, or the same of jobs that run alone. */
  readonly line: number;
  /** Null for ordinary jobs. */
  readonly bound: BoundLine | null;
  /** How many of its jobs are read. */
  readonly depth: number;
}

/** A job as it was read to choose. */
export interface SourceJob extends Candidate {
  readonly source: LineSource;
}

const nothing = { limit: null, cost: 1 } as const;

/**
 * Hands out what was read of each line, and notes where that is not enough to choose by: from the choice on at which the
 * jobs of a line were used up while it may have more, nobody knows what comes next.
 */
export class ReadJobs {
  readonly #jobs: ReadonlyMap<LineSource, readonly SourceJob[]>;
  /** Jobs that were handed out, and lines that wait with one at their head. */
  #handed = 0;
  #heads = 0;
  #sureOf = Number.POSITIVE_INFINITY;

  constructor(jobs: ReadonlyMap<LineSource, readonly SourceJob[]>) {
    this.#jobs = jobs;
  }

  /** How many choices are sure. */
  get sureOf(): number {
    return this.#sureOf;
  }

  lineOf(source: LineSource, occupancy: Occupancy): LineOfJobs<SourceJob> {
    const { queue, line, bound } = source;
    return {
      jobs: this.#read(source),
      room: occupancy.roomFor(queue, bound?.bounds ?? nothing),
      group: bound?.bounds.limit?.group ?? null,
      mayWait: line === 0 && !occupancy.hasBudget(queue),
    };
  }

  *#read(source: LineSource): Generator<SourceJob, void> {
    const jobs = this.#jobs.get(source) ?? [];
    let isFirst = true;
    for (const job of jobs) {
      this.#handed += 1;
      if (isFirst) this.#heads += 1;
      isFirst = false;
      yield job;
    }
    if (jobs.length === 0) return;
    this.#heads -= 1;
    if (jobs.length >= source.depth) this.#sureOf = Math.min(this.#sureOf, this.#handed - this.#heads);
  }
}
