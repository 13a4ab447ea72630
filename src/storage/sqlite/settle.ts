import { MillraceError } from '../../internal/errors.js';
import { uuidToBytes } from '../../internal/uuid.js';
import type { Settlement, SettleOutcome } from '../settlement.js';
import { firstFinalCode, statusCodes } from '../sql/status-codes.js';
import { stopOfCode } from './codes.js';
import { carryOut, completeJob, endJob, makePending } from './endings.js';
import { chargeAttempt, type JobRow, jobById } from './queries/endings.js';
import * as sql from './queries/settle.js';
import { tokenToBytes } from './tokens.js';
import type { Transaction } from './transaction.js';

export function settle(tx: Transaction, settlements: readonly Settlement[]): SettleOutcome[] {
  // One claim's jobs share a token, and mostly a settle brings those of one claim.
  let text = '';
  let token: Buffer = Buffer.alloc(0);
  return settlements.map((settlement) => {
    if (settlement.token !== text) {
      text = settlement.token;
      token = tokenToBytes(text);
    }
    const id = uuidToBytes(settlement.id);
    return settlePlain(tx, settlement, id, token) ? 'done' : settleTied(tx, settlement, id, token);
  });
}

/** False: something is tied to the job, or the lease is lost. */
function settlePlain(tx: Transaction, settlement: Settlement, id: Buffer, token: Buffer): boolean {
  const { db, nowMs } = tx;
  switch (settlement.kind) {
    case 'completed': {
      const queue = complete(tx, settlement, id, token);
      if (queue !== undefined) tx.countEnding(queue, statusCodes.completed);
      return queue !== undefined;
    }
    case 'retry': {
      const dueAt = Math.round(nowMs + settlement.delayMs);
      return woken(tx, db.value<number>(sql.retry, settlement.errors, dueAt, id, token));
    }
    case 'snoozed':
      return woken(
        tx,
        db.value<number>(sql.putBack, null, Math.round(nowMs + settlement.delayMs), id, token),
      );
    case 'put-back':
      return woken(
        tx,
        db.value<number>(sql.putBack, settlement.reason, putBackDue(tx, settlement), id, token),
      );
    case 'buried':
    case 'cancelled':
    case 'died':
      return false;
  }
}

/** The queue of the job that was completed. */
function complete(
  tx: Transaction,
  settlement: Settlement & { readonly kind: 'completed' },
  id: Buffer,
  token: Buffer,
): number | undefined {
  const { db, nowMs } = tx;
  const values = [settlement.result, settlement.outcome ?? null, nowMs, id, token] as const;
  const queue = db.claimedQueues.queueOf(settlement.token);
  if (queue === undefined) return db.value<number>(sql.completeAskingQueue, ...values);
  return db.run(sql.complete, ...values) === 1 ? queue : undefined;
}

function woken(tx: Transaction, queue: number | undefined): boolean {
  if (queue !== undefined) tx.wake(queue);
  return queue !== undefined;
}

/** Without a delay it keeps its place in the line. */
function putBackDue(tx: Transaction, settlement: { readonly delayMs: number }): number | null {
  return settlement.delayMs > 0 ? Math.round(tx.nowMs + settlement.delayMs) : null;
}

/** The long way: look, decide, apply. */
function settleTied(tx: Transaction, settlement: Settlement, id: Buffer, token: Buffer): SettleOutcome {
  const job = tx.db.get<JobRow>(jobById, id);
  if (job === undefined) return 'already-final';
  const isOurs = job.token?.equals(token) === true;
  if (job.status >= firstFinalCode) return isOurs ? 'done' : 'already-final';
  if (job.status !== statusCodes.processing || !isOurs) return 'lease-lost';
  if (settlement.kind === 'retry' || settlement.kind === 'buried')
    tx.db.run(chargeAttempt, settlement.errors, job.row);
  const request = stopOfCode(job.stop);
  if (request !== null && settlement.kind !== 'completed') carryOut(tx, job, request, token);
  else apply(tx, job, settlement, token);
  return 'done';
}

function apply(tx: Transaction, job: JobRow, settlement: Settlement, token: Buffer): void {
  switch (settlement.kind) {
    case 'completed':
      completeJob(tx, job, { result: settlement.result, outcome: settlement.outcome ?? null });
      break;
    case 'buried':
      endJob(tx, job.row, { status: statusCodes.buried, reason: settlement.reason, token });
      break;
    case 'cancelled':
      endJob(tx, job.row, { status: statusCodes.cancelled, reason: settlement.reason, token });
      break;
    case 'retry':
    case 'snoozed':
      makePending(tx, job, { reason: null, dueAtMs: tx.nowMs + settlement.delayMs });
      break;
    case 'put-back':
      makePending(tx, job, { reason: settlement.reason, dueAtMs: putBackDue(tx, settlement) });
      break;
    case 'died':
      throw new MillraceError('internal', 'settle: this engine knows no dead lanes yet');
  }
}
