import { decideAfterDeath } from '../core/after-death.js';
import { type ResolvedBackoff, resolveBackoff } from '../core/backoff.js';
import { appendFailure } from '../internal/failure.js';
import { storedText } from '../internal/stored-text.js';
import type { Settlement } from '../storage/settlement.js';
import type { Attempt } from './attempt.js';
import type { Executor } from './executor.js';
import type { LaneEnding } from './lanes/lane.js';

export interface LaneEndingPorts {
  readonly executor: Pick<Executor, 'abandon'>;
  readonly workerId: string;
  readonly random: () => number;
  /** Best knowledge of the database's clock, epoch ms. */
  readonly now: () => number;
}

/** That of the rescuer: a death says nothing of how long a job that fails should wait. */
const deathBackoff: ResolvedBackoff = resolveBackoff('exponential');
const reasonBytes = 1_024;
const tailBytes = 2_048;

/**
 * What a lane's answer makes of an attempt. Null: its lease is lost and nothing is settled.
 *
 * A lane that was killed since the attempt ignored its abort settles what the abort says. One that died by itself costs
 * the job no attempt but a death; nothing ran beside it, so a third death buries it as poison.
 */
export function settlementOfLane(
  attempt: Attempt,
  ending: LaneEnding,
  ports: LaneEndingPorts,
): Settlement | null {
  const { id, token, deaths } = attempt.job;
  if (ending.kind === 'settled') return attempt.abortCause === 'lease-lost' ? null : ending.settlement;
  if (attempt.abortCause !== null) return ports.executor.abandon(attempt);
  if (ending.kind === 'refused') {
    const reason = storedText(`its lane could not begin: ${ending.reason}`, reasonBytes);
    return { id, token, kind: 'put-back', delayMs: 0, reason };
  }
  const decision = decideAfterDeath(
    { isStarted: true, deaths, ranAlone: true, stopRequest: null, backoff: deathBackoff },
    ports.random,
  );
  if (decision.kind === 'buried') {
    return {
      id,
      token,
      kind: 'buried',
      reason: 'poison',
      errors: errorsWith(attempt, ending, ports, 'poison'),
    };
  }
  const delayMs = decision.kind === 'retry' ? decision.delayMs : 0;
  // In a process of its own it runs alone already.
  return {
    id,
    token,
    kind: 'died',
    delayMs,
    alone: false,
    errors: errorsWith(attempt, ending, ports, 'died'),
  };
}

function errorsWith(
  { job }: Attempt,
  { reason, tail }: Extract<LaneEnding, { kind: 'died' }>,
  { workerId, now }: LaneEndingPorts,
  kind: 'died' | 'poison',
): string {
  const how = `the process that ran this job ${reason}${kind === 'poison' ? ', for the third time' : ''}`;
  const message = tail === '' ? how : `${how}; the end of what it wrote: ${storedText(tail, tailBytes)}`;
  return appendFailure(job.errors, {
    at: now(),
    attempt: job.attempts + 1,
    kind,
    worker: workerId,
    error: { name: 'LaneDied', message },
  });
}
