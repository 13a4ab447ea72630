import type { ClaimedJob } from '../../storage/claimed-job.js';

/**
 * Jobs of several queues in the order in which shares would start them: those with a slot first, and within these and
 * the others each queue spread evenly over the whole. Storage answers part by part.
 */
export function interleave(jobs: readonly ClaimedJob[]): ClaimedJob[] {
  const counts = new Map<string, number>();
  for (const { queue } of jobs) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  if (counts.size < 2) return [...jobs];
  const seen = new Map<string, number>();
  const placed = jobs.map((job) => {
    const before = seen.get(job.queue) ?? 0;
    seen.set(job.queue, before + 1);
    return { job, place: (before + 0.5) / (counts.get(job.queue) ?? 1) };
  });
  placed.sort((a, b) => Number(b.job.started) - Number(a.job.started) || a.place - b.place);
  return placed.map(({ job }) => job);
}
