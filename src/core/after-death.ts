import { type ResolvedBackoff, retryDelayMs } from './backoff.js';

/** A lease whose holder is gone, and the job under it. */
export interface DeadLease {
  /** Whether a handler had begun; a job that only lay in a buffer is not touched by the death. */
  readonly isStarted: boolean;
  /** Deaths of this job before this one. */
  readonly deaths: number;
  /** Whether nothing else ran in the process that died: only then is the job to blame. */
  readonly ranAlone: boolean;
  /** What an operator had asked for while it ran. */
  readonly stopRequest: null | 'cancel' | 'bury' | 'delete';
  readonly backoff: ResolvedBackoff;
}

/** What the storage is to do. No death is ever charged as an attempt. */
export type DeathDecision =
  /** Never started: back in line as if it had not been claimed. */
  | { readonly kind: 'put-back' }
  /** Due again after its backoff; `alone`: to run with nothing beside it, or in a process lane. */
  | { readonly kind: 'retry'; readonly deaths: number; readonly delayMs: number; readonly alone: boolean }
  /** Buried: as poison, or because an operator had asked for it. */
  | { readonly kind: 'buried'; readonly deaths: number; readonly poison: boolean }
  | { readonly kind: 'cancelled'; readonly deaths: number }
  | { readonly kind: 'deleted'; readonly deaths: number };

/** After so many deaths a job runs alone, so that the next one proves something. */
const deathsBeforeAlone = 2;
/** The death, counted from 1, that buries a job if it ran alone. */
const poisonDeath = 3;

/**
 * What becomes of a job whose worker or lane died. A wish of an operator is fulfilled, since the
 * run it had to wait for is over. A job is blamed only for dying alone: the third death or a later
 * one, alone, buries it as poison; a death in company never does, whatever their number.
 */
export function decideAfterDeath(lease: DeadLease, random: () => number): DeathDecision {
  const deaths = lease.deaths + (lease.isStarted ? 1 : 0);
  switch (lease.stopRequest) {
    case 'cancel':
      return { kind: 'cancelled', deaths };
    case 'delete':
      return { kind: 'deleted', deaths };
    case 'bury':
      return { kind: 'buried', deaths, poison: false };
    case null:
      break;
  }
  if (!lease.isStarted) return { kind: 'put-back' };
  if (lease.ranAlone && deaths >= poisonDeath) return { kind: 'buried', deaths, poison: true };
  return {
    kind: 'retry',
    deaths,
    delayMs: retryDelayMs(lease.backoff, deaths, random),
    alone: deaths >= deathsBeforeAlone,
  };
}
