/* Where the jobs of a claim come from, and which of them are read. */
import type { Candidate, Chosen } from '../choose-jobs.js';
import type { Line } from './lines.js';
import type { SeenLane } from './survey.js';

/** Where jobs come from: the ordinary line of a queue, for one take, or a lane. */
export interface Spring {
  readonly key: string;
  readonly take: number;
  readonly queueId: number;
  /** Null: the ordinary line. */
  readonly lane: SeenLane | null;
  readonly line: Line | null;
  /** The first ones, in order. */
  readonly jobs: SpringJob[];
  /** There may be more than these. */
  isCut: boolean;
}

export interface SpringJob extends Candidate {
  readonly spring: Spring;
}

export const ordinaryKey = (take: number, queueId: number): string => `${take}/${queueId}`;

export const laneKey = ({
  queueId,
  line,
  rnk,
  nameId,
}: {
  queueId: number;
  line: number;
  rnk: number;
  nameId: number;
}): string => `${queueId}.${line}.${rnk}.${nameId}`;

export function springJob(
  spring: Spring,
  { rnk, due, id }: { readonly rnk: number; readonly due: number; readonly id: Buffer },
): SpringJob {
  return { id: id.toString('hex'), priority: 0 - rnk, dueAtMs: due, spring };
}

/** By where they come from, in the order of the choice. */
export function bySource(jobs: readonly Chosen<SpringJob>[]): Map<Spring, Chosen<SpringJob>[]> {
  const found = new Map<Spring, Chosen<SpringJob>[]>();
  for (const one of jobs) {
    const own = found.get(one.job.spring);
    if (own === undefined) found.set(one.job.spring, [one]);
    else own.push(one);
  }
  return found;
}
