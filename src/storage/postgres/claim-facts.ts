import type { ClaimedJob, ClaimRequest, Take } from '../claimed-job.js';
import { textArray } from './arrays.js';

/** Where a job counts: its group and key, or a queue with a budget. Null for most jobs. */
export function placeOf({ limit, queue }: ClaimedJob, { budgets }: ClaimRequest): string | null {
  if (limit !== null) return `${limit.group}\n${limit.key ?? ''}`;
  return Object.hasOwn(budgets.queues, queue) ? queue : null;
}

/** Of a view of waiting lines. */
export function viewKey({ queues, names }: Take, { alone }: ClaimRequest): string {
  return JSON.stringify([alone, queues, names]);
}

/** Queues of this claim that have a budget. */
export function meteredQueues({ takes, budgets }: ClaimRequest): string[] {
  const queues = new Set<string>();
  for (const take of takes)
    for (const queue of take.queues) if (Object.hasOwn(budgets.queues, queue)) queues.add(queue);
  return [...queues];
}

/** Names can't hold the separator: a name is printable. */
export const namesOf = (takes: readonly Take[]): Buffer =>
  textArray(takes.map(({ names }) => names.join('\x1f')));
