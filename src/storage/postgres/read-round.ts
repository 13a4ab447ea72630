import { type Chosen, inClaimOrder } from '../choose-jobs.js';
import type { ClaimedJob, Take } from '../claimed-job.js';
import { hasRoom, type Occupancy } from '../occupancy.js';
import type { LineSource, SourceJob } from './line-source.js';
import type { Gates } from './loads.js';
import type { Row } from './statement.js';

/** What one round of a claim has read, nothing of it locked. */
export interface ReadRound {
  readonly sources: readonly LineSource[];
  readonly gates: Gates;
  readonly occupancy: Occupancy;
  readonly held: ClaimedJob[];
  readonly jobs: ReadonlyMap<LineSource, readonly SourceJob[]>;
}

/** The first jobs of each line that was looked at, in the order of the claim. */
export function jobsBySource(
  row: Row | undefined,
  sources: readonly LineSource[],
): ReadonlyMap<LineSource, readonly SourceJob[]> {
  const jobs = new Map<LineSource, SourceJob[]>();
  const text = row?.[0] ?? null;
  if (text === null) return jobs;
  for (const part of text.split(',')) {
    const [ord, rank, due, id = ''] = part.split(' ');
    const source = sources[Number(ord) - 1];
    if (source === undefined) continue;
    const job = { source, priority: 0 - Number(rank), dueAtMs: Number(due), id };
    const list = jobs.get(source);
    if (list === undefined) jobs.set(source, [job]);
    else list.push(job);
  }
  for (const list of jobs.values()) list.sort(inClaimOrder);
  return jobs;
}

/** The first that has room; keys take no turns here. */
export function chooseAlone(
  take: Take,
  { sources, occupancy, jobs }: Pick<ReadRound, 'sources' | 'occupancy' | 'jobs'>,
): Chosen<SourceJob>[] {
  for (const queue of new Set(take.queues)) {
    const [first] = sources
      .filter((source) => source.queue === queue)
      .filter(({ bound }) => hasRoom(occupancy.roomFor(queue, bound?.bounds ?? { limit: null, cost: 1 })))
      .flatMap((source) => jobs.get(source)?.slice(0, 1) ?? [])
      .sort(inClaimOrder);
    if (first === undefined) continue;
    const mayWait = first.source.bound === null && !occupancy.hasBudget(queue);
    return take.start > 0 || mayWait ? [{ job: first, started: take.start > 0 }] : [];
  }
  return [];
}
