import { isFinal } from '../../core/job-status.js';
import type { Settlement, SettleOutcome } from '../settlement.js';
import { backToPending, carryOut, endJob } from './endings.js';
import type { MemoryJob, MemoryState } from './state.js';

export function settle(state: MemoryState, settlements: readonly Settlement[]): SettleOutcome[] {
  return settlements.map((settlement) => settleOne(state, settlement));
}

function settleOne(state: MemoryState, settlement: Settlement): SettleOutcome {
  const job = state.jobs.get(settlement.id);
  if (job === undefined) return 'already-final';
  if (isFinal(job.status)) return job.endedBy === settlement.token ? 'done' : 'already-final';
  if (job.lease?.token !== settlement.token) return 'lease-lost';
  const { stopRequest } = job.lease;
  recordAttempt(job, settlement);
  if (stopRequest !== null && settlement.kind !== 'completed') {
    carryOut(state, job, stopRequest, settlement.token);
  } else {
    apply(state, job, settlement);
  }
  return 'done';
}

/** What the attempt did to the job, whatever becomes of it. */
function recordAttempt(job: MemoryJob, settlement: Settlement): void {
  if (settlement.kind !== 'retry' && settlement.kind !== 'buried' && settlement.kind !== 'died') return;
  job.errors = settlement.errors;
  if (settlement.kind === 'died' || (settlement.kind === 'buried' && settlement.reason === 'poison'))
    job.deaths += 1;
  else job.attempts += 1;
}

function apply(state: MemoryState, job: MemoryJob, settlement: Settlement): void {
  const endedBy = settlement.token;
  switch (settlement.kind) {
    case 'completed':
      job.result = settlement.result;
      job.outcome = settlement.outcome ?? null;
      endJob(state, job, { status: 'completed', reason: null, endedBy });
      break;
    case 'buried':
      endJob(state, job, { status: 'buried', reason: settlement.reason, endedBy });
      break;
    case 'cancelled':
      endJob(state, job, { status: 'cancelled', reason: settlement.reason, endedBy });
      break;
    case 'retry':
    case 'snoozed':
      job.dueAtMs = state.now() + settlement.delayMs;
      backToPending(state, job, null);
      break;
    case 'died':
      job.dueAtMs = state.now() + settlement.delayMs;
      job.alone ||= settlement.alone;
      backToPending(state, job, null);
      break;
    case 'put-back':
      // Without a delay it keeps its place in the line.
      if (settlement.delayMs > 0) job.dueAtMs = state.now() + settlement.delayMs;
      backToPending(state, job, settlement.reason);
      break;
  }
}
