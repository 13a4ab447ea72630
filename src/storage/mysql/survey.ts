/*
 * Which lanes of lines have jobs: what a claim reads first. Only a hint: what a claim takes is decided behind its locks.
 *
 * Where the queue has few lanes, a claim looks at all of them, idle or not, and its first statement compares a sum over
 * the lanes that are known with one over those that there are: so nothing that others wrote a moment ago is missed. Where
 * it has many, what was read is believed for a moment, what this process writes is added at once, and before a claim
 * answers with fewer than it was asked for it is read anew.
 */

import type { Result } from './driver.js';
import type { Lane } from './lanes.js';
import { laneSum, surveyStatement } from './queries/survey.js';
import type { Sql } from './sql.js';
import type { Tables } from './tables.js';

/** A lane that has, or had when it was looked at, a job. */
export interface SeenLane extends Lane {
  /** Of its first job; infinite: none. */
  due: number;
  /** Of its key; 0: never served, or not known. */
  served: number;
  /** How many of its key run. */
  running: number;
}

interface SeenQueue {
  readonly lanes: Map<string, SeenLane>;
  /** Whether there are lanes of lines at all, with jobs or without. */
  hasLines: boolean;
  readAt: number;
  /** All lanes that there were are known. */
  isWhole: boolean;
  /** Where the next page begins. */
  after: readonly [line: number, rnk: number, nameId: number] | null;
}

const believedMs = 250;
/** Up to so many lanes of one queue are all looked at. */
const fewLanes = 64;
/** Lanes are looked at so long before their first job is due: the clocks are not told apart any better. */
const earlyMs = 1_000;
/** Lanes that are looked at in one statement. */
const pageLanes = 1_000;
/** Lanes that are remembered of one queue. */
const mostLanes = 4_000;

type Send = (...statements: readonly Sql[]) => Promise<Result[]>;

export class Survey {
  readonly #t: Tables;
  readonly #now: () => Sql;
  readonly #clock: () => number;
  readonly #queues = new Map<number, SeenQueue>();
  /** What the database's clock is ahead of ours. */
  #aheadMs = 0;

  constructor(t: Tables, time: { now: () => Sql; offsetMs: () => number }) {
    this.#t = t;
    this.#now = time.now;
    this.#clock = () => performance.now() + time.offsetMs();
  }

  forget(): void {
    this.#queues.clear();
  }

  /** Whether a claim of these queues has to look for lines. */
  haveLines(queueIds: readonly number[]): boolean {
    return this.#queues.size > 0 && queueIds.some((id) => this.#queues.get(id)?.hasLines === true);
  }

  /** A plain claim was told that there are some, in at least one of these queues. */
  noteLines(queueIds: readonly number[]): void {
    for (const id of queueIds) this.#queue(id).hasLines = true;
  }

  /** A job was (or is just being) written to these lanes. */
  noteWork(lanes: readonly Lane[]): void {
    for (const lane of lanes) {
      const queue = this.#queue(lane.queueId);
      queue.hasLines = true;
      const known = queue.lanes.get(keyOf(lane));
      if (known !== undefined) known.due = Math.min(known.due, 0);
      else queue.lanes.set(keyOf(lane), { ...lane, due: 0, served: 0, running: 0 });
    }
  }

  /** Those of these queues that have to be read again. */
  stale(queueIds: readonly number[]): number[] {
    const now = performance.now();
    return queueIds.filter((id) => {
      const queue = this.#queues.get(id);
      if (queue?.hasLines !== true) return false;
      return queue.readAt < 0 || (!areFew(queue) && now - queue.readAt > believedMs);
    });
  }

  /** Those of these queues that have lines. */
  lined(queueIds: readonly number[]): number[] {
    return queueIds.filter((id) => this.#queues.get(id)?.hasLines === true);
  }

  /** Those of these queues that are taken for queues without. */
  plain(queueIds: readonly number[]): number[] {
    return queueIds.filter((id) => this.#queues.get(id)?.hasLines !== true);
  }

  /** The lines of the lanes that are known. */
  linesIn(queueIds: readonly number[]): Set<number> {
    const lines = queueIds.flatMap((id) => [...(this.#queues.get(id)?.lanes.values() ?? [])]);
    return new Set(lines.map(({ line }) => line));
  }

  /** Those with few lanes, and the sum over those that are known. */
  sums(queueIds: readonly number[]): (readonly [queueId: number, sum: number])[] {
    return queueIds.flatMap((id) => {
      const queue = this.#queues.get(id);
      if (queue === undefined || !areFew(queue)) return [];
      return [[id, laneSum([...queue.lanes.values()])] as const];
    });
  }

  /** What is known of these queues is out of date. */
  doubt(queueIds: readonly number[]): void {
    for (const id of queueIds) {
      const queue = this.#queues.get(id);
      if (queue !== undefined) queue.readAt = Number.NEGATIVE_INFINITY;
    }
  }

  /** Lanes in which a job is due, as far as it is known; of a queue with few lanes all. */
  dueIn(queueId: number): SeenLane[] {
    const queue = this.#queues.get(queueId);
    if (queue === undefined) return [];
    if (areFew(queue)) return [...queue.lanes.values()];
    const nowMs = this.#clock() + this.#aheadMs + earlyMs;
    return [...queue.lanes.values()].filter(({ due }) => due <= nowMs);
  }

  async read(queueIds: readonly number[], send: Send): Promise<void> {
    if (queueIds.length === 0) return;
    const pages = queueIds.map((queueId) => ({
      queueId,
      after: this.#queue(queueId).after,
      limit: pageLanes,
    }));
    const results = await send(...pages.map((page) => surveyStatement(this.#t, page, this.#now())));
    for (const [index, page] of pages.entries()) {
      this.#keep(page.queueId, page.after, (results[index]?.rows ?? []) as unknown as SurveyRow[]);
    }
  }

  #keep(queueId: number, after: SeenQueue['after'], rows: readonly SurveyRow[]): void {
    const queue = this.#queue(queueId);
    const last = rows.at(-1);
    const isLastPage = rows.length < pageLanes;
    if (after === null && isLastPage) queue.lanes.clear();
    for (const row of rows) {
      const [line, rnk, nameId, due, served, running, now] = row;
      this.#aheadMs = Number(now) - this.#clock();
      const lane = { queueId, line, rnk, nameId };
      const seen = {
        ...lane,
        due: due ?? Number.POSITIVE_INFINITY,
        served: served ?? 0,
        running: Number(running),
      };
      if (due === null && rows.length > fewLanes) queue.lanes.delete(keyOf(lane));
      else queue.lanes.set(keyOf(lane), seen);
    }
    queue.isWhole = after === null && isLastPage && rows.length <= fewLanes;
    for (const key of queue.lanes.keys()) {
      if (queue.lanes.size <= mostLanes) break;
      queue.lanes.delete(key);
    }
    if (after === null) queue.hasLines = rows.length > 0;
    queue.after = isLastPage || last === undefined ? null : [last[0], last[1], last[2]];
    queue.readAt = performance.now();
  }

  #queue(id: number): SeenQueue {
    let queue = this.#queues.get(id);
    if (queue === undefined) {
      queue = {
        lanes: new Map(),
        hasLines: false,
        readAt: Number.NEGATIVE_INFINITY,
        isWhole: false,
        after: null,
      };
      this.#queues.set(id, queue);
    }
    return queue;
  }
}

const areFew = ({ isWhole, lanes }: SeenQueue): boolean => isWhole && lanes.size <= fewLanes;

type SurveyRow = readonly [
  line: number,
  rnk: number,
  nameId: number,
  due: number | null,
  served: number | null,
  running: number,
  now: number,
];

const keyOf = ({ line, rnk, nameId }: Lane): string => `${line}.${rnk}.${nameId}`;
