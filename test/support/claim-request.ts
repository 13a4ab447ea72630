import type { ClaimRequest, PeekRequest, Take } from '../../src/storage/claimed-job.js';
import { noBudgets } from '../../src/storage/job-limit.js';

/** A claim of one take, spread out; `takes` goes before what is said of the one. */
export type ClaimWish = ClaimRequest & Take;

/** The claim that is wished for, of a worker without labels and budgets unless it says otherwise. */
export function claimOf(
  wish: Omit<ClaimWish, 'takes' | 'labels' | 'budgets'> &
    Partial<Pick<ClaimWish, 'takes' | 'labels' | 'budgets'>>,
): ClaimRequest {
  const { token, workerId, leaseMs, alone, queues, names, limit, start } = wish;
  return {
    token,
    workerId,
    leaseMs,
    takes: wish.takes ?? [{ queues, names, limit, start }],
    labels: wish.labels ?? [],
    budgets: wish.budgets ?? noBudgets,
    alone,
  };
}

/** A look at what a worker without labels and budgets could get. */
export function peekAt(
  queues: readonly string[],
  names: readonly string[],
  wish: Partial<PeekRequest> = {},
): PeekRequest {
  return { takes: [{ queues, names, limit: 100, start: 100 }], labels: [], budgets: noBudgets, ...wish };
}
