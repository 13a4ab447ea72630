import { uuidToBytes } from '../../internal/uuid.js';
import type { Settlement, SettleOutcome } from '../settlement.js';
import { firstFinalCode, statusCodes } from '../sql/status-codes.js';
import { stopOfCode } from './codes.js';
import { carryOut, completeJob, endJob, makePending, returnAfterDeath } from './endings.js';
import { chargeAttempt, type JobRow, jobById } from './queries/endings.js';
import { countDeath } from './queries/recover.js';
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
    case 'completed':
      return complete(tx, settlement, id, token);
    case 'retry': {
      const dueAt = Math.round(nowMs + settlement.delayMs);
      return isPending(tx, db.get<sql.SettledRow>(sql.retry, settlement.errors, dueAt, id, token));
    }
    case 'snoozed': {
      const dueAt = Math.round(nowMs + settlement.delayMs);
      return isPending(tx, db.get<sql.SettledRow>(sql.putBack, null, dueAt, id, token));
    }
    case 'put-back': {
      const dueAt = putBackDue(tx, settlement);
      return isPending(tx, db.get<sql.SettledRow>(sql.putBack, settlement.reason, dueAt, id, token));
    }
    case 'buried':
    case 'cancelled':
    case 'died':
      return false;
  }
}

function complete(
  tx: Transaction,
  settlement: Settlement & { readonly kind: 'completed' },
  id: Buffer,
  token: Buffer,
): boolean {
  const { db, nowMs } = tx;
  const values = [settlement.result, settlement.outcome ?? null, nowMs, id, token] as const;
  const claimed = db.claimedQueues.of(settlement.token);
  if (claimed === undefined) {
    const row = db.get<sql.SettledRow>(sql.completeAsking, ...values);
    return row !== undefined && isComplete(tx, row.queue, row.isCounted === 1);
  }
  return db.run(sql.complete, ...values) === 1 && isComplete(tx, claimed.queue, claimed.isMetered);
}

function isComplete(tx: Transaction, queue: number, isCounted: boolean): true {
  tx.countEnding(queue, statusCodes.completed);
  tx.wakesAll ||= isCounted;
  return true;
}

function isPending(tx: Transaction, row: sql.SettledRow | undefined): boolean {
  if (row === undefined) return false;
  tx.wake(row.queue);
  tx.db.stretches.changed(row.kind);
  tx.wakesAll ||= row.isCounted === 1;
  return true;
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
  recordAttempt(tx, job, settlement);
  const request = stopOfCode(job.stop);
  if (request !== null && settlement.kind !== 'completed') carryOut(tx, job, request, token);
  else apply(tx, job, settlement, token);
  return 'done';
}

/** What the attempt itself did, whatever becomes of the job. */
function recordAttempt({ db }: Transaction, job: JobRow, settlement: Settlement): void {
  const { kind } = settlement;
  if (kind === 'died' || (kind === 'buried' && settlement.reason === 'poison'))
    db.run(countDeath, settlement.errors, job.row);
  else if (kind === 'retry' || kind === 'buried') db.run(chargeAttempt, settlement.errors, job.row);
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
      returnAfterDeath(tx, job, settlement);
      break;
  }
}
