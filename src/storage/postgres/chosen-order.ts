import type { Chosen } from '../choose-jobs.js';
import type { ClaimedJob, Take } from '../claimed-job.js';
import { termsOf } from './bounds.js';
import { takeOf } from './claim-round.js';
import type { LineSource, SourceJob } from './line-source.js';

/** Jobs of one line in the order of the claim, lines in the order of the choice. */
export function inChosenOrder(
  jobs: readonly ClaimedJob[],
  chosen: readonly Chosen<SourceJob>[],
  takes: readonly Take[],
): ClaimedJob[] {
  const byLine = new Map<string, ClaimedJob[]>();
  for (const job of jobs) {
    const key = `${takeOf(job, takes)} ${job.queue} ${termsOf(job)}`;
    const line = byLine.get(key);
    if (line === undefined) byLine.set(key, [job]);
    else line.push(job);
  }
  const keys = new Map<LineSource, string>();
  return chosen.flatMap(({ job: { source } }) => {
    const key = keys.get(source) ?? `${source.take} ${source.queue} ${source.bound?.terms ?? null}`;
    keys.set(source, key);
    const next = byLine.get(key)?.shift();
    return next === undefined ? [] : [next];
  });
}
