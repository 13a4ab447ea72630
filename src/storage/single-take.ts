import { MillraceError } from '../internal/errors.js';
import type { ClaimRequest, PeekRequest, Take } from './claimed-job.js';

/** A claim of one take, spread out: what an engine without limits and several takes works on. */
export type SingleTake = Omit<ClaimRequest, 'takes' | 'labels' | 'budgets'> & Take;

export function singleTake({ takes, token, workerId, leaseMs, alone }: ClaimRequest): SingleTake {
  return { ...onlyTake(takes), token, workerId, leaseMs, alone };
}

export function onlyTake(takes: PeekRequest['takes']): Take {
  const [take] = takes;
  if (take === undefined || takes.length > 1)
    throw new MillraceError('internal', `claim: this engine can't answer ${takes.length} takes yet`);
  return take;
}
