/*
 * A handler ends its own job inside a transaction of its own.
 *
 *   running ──settleIn──▶ written, not known to be committed ──the handler ends──▶ the job is read:
 *       completed → committed, and that was the settlement · anything else → rolled back, the ordinary outcome counts
 *
 * When the job can't be read, the ordinary settlement is sent: storage answers `done` to any under the token that ended
 * the job, and changes nothing.
 */
import { encodeOutput, type StoredResult } from '../client/codec.js';
import { MillraceError } from '../internal/errors.js';
import type { Settlement, SettleOutcome } from '../storage/settlement.js';
import type { Attempt } from './attempt.js';

export interface SettlePorts {
  settleIn(tx: unknown, settlement: Settlement): Promise<SettleOutcome>;
  settleInSync(tx: unknown, settlement: Settlement): SettleOutcome;
  /** Whether the settlement inside the handler's transaction counts, now that the handler has ended. */
  wasSettled(attempt: Attempt, hasFailed: boolean): Promise<boolean>;
  readonly maxPayloadBytes: number;
}

/** @throws MillraceError `lease-lost`, `result-invalid`, `tx-invalid`, `tx-aborted` */
export async function settleWithin(
  attempt: Attempt,
  ports: SettlePorts,
  given: { readonly tx: unknown; readonly value: unknown },
): Promise<void> {
  refuseLost(attempt);
  const stored = await encodeOutput(attempt.definition, given.value, ports.maxPayloadBytes);
  const settlement = settlementOf(attempt, stored);
  note(attempt, settlement, await ports.settleIn(given.tx, settlement));
}

/** @throws MillraceError as `settleWithin`; `option-invalid` for an output schema that is asynchronous */
export function settleWithinSync(
  attempt: Attempt,
  ports: SettlePorts,
  given: { readonly tx: unknown; readonly value: unknown },
): void {
  refuseLost(attempt);
  const stored = encodeOutput(attempt.definition, given.value, ports.maxPayloadBytes);
  if (stored instanceof Promise) {
    // Its refusal, if it is one, is not what this is about.
    stored.catch(() => undefined);
    throw asyncSchema(attempt);
  }
  const settlement = settlementOf(attempt, stored);
  note(attempt, settlement, ports.settleInSync(given.tx, settlement));
}

function settlementOf({ job: { id, token } }: Attempt, { text }: StoredResult): Settlement {
  return { id, token, kind: 'completed', result: text };
}

/** A transaction that was rolled back may be run again, so a second time is no mistake. */
function note(attempt: Attempt, settlement: Settlement, outcome: SettleOutcome): void {
  if (outcome !== 'done') throw lost(attempt);
  attempt.settledWithin = settlement;
}

function refuseLost(attempt: Attempt): void {
  if (attempt.abortCause === 'lease-lost' || attempt.isAbandoned) throw lost(attempt);
}

/** Thrown inside the user's transaction, so that it is rolled back. */
function lost({ job: { id, name } }: Attempt): MillraceError {
  return new MillraceError(
    'lease-lost',
    `settleIn: job ${id} (${name}) is no longer this worker's to end: its lease was lost, or the job has ended. Let the error leave your transaction, so that it is rolled back`,
    { details: { jobId: id, name } },
  );
}

function asyncSchema({ job: { id, name } }: Attempt): MillraceError {
  return new MillraceError(
    'option-invalid',
    `settleInSync: expected an output schema that answers at once, got an asynchronous one, of job "${name}". Return the value from the handler instead, or check it before`,
    { details: { jobId: id, name } },
  );
}
