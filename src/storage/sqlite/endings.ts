/*
 * How a job ends, and what follows from it for the jobs that wait for it. Everything here runs inside the transaction
 * that ends the job, so nobody ever sees an ended parent whose dependents still wait.
 */
import type { StopRequest } from '../claimed-job.js';
import { firstFinalCode, statusCodes } from '../sql/status-codes.js';
import { policyCodes, scopeCodes } from './codes.js';
import { ordinary, ownLine } from './line-book.js';
import * as sql from './queries/endings.js';
import { deletePayload } from './queries/payloads.js';
import * as keys from './queries/unique-keys.js';
import type { Transaction } from './transaction.js';

export interface Ending {
  readonly status: number;
  readonly reason: string | null;
  /** The token whose settlement it is; null when another hand ends the job. */
  readonly token: Buffer | null;
}

export const jobRow = (tx: Transaction, row: number): sql.JobRow =>
  tx.db.get<sql.JobRow>(sql.jobByRow, row) as sql.JobRow;

/** Ends a job that is not final. */
export function endJob(tx: Transaction, row: number, ending: Ending): void {
  endJobs(tx, [jobRow(tx, row)], ending);
}

/** All end before the first is followed: what waits for another one of them ends as itself. */
export function endJobs(tx: Transaction, jobs: readonly sql.JobRow[], ending: Ending): void {
  for (const job of jobs) endAlone(tx, job, ending);
  for (const { row } of jobs) tellDependents(tx, row, ending.status === statusCodes.completed);
}

export function completeJob(
  tx: Transaction,
  job: sql.JobRow,
  completion: { readonly result: string | null; readonly outcome: string | null },
): void {
  tx.db.run(sql.endCompleted, completion.result, completion.outcome, tx.nowMs, job.row);
  freePlace(tx, job);
  freeAtEnd(tx, job);
  tx.countEnding(job.queue, statusCodes.completed);
  tellDependents(tx, job.row, true);
}

function endAlone(tx: Transaction, job: sql.JobRow, ending: Ending): void {
  tx.db.run(sql.end, ending.status, ending.reason, ending.token, tx.nowMs, job.row);
  freePlace(tx, job);
  freeAtEnd(tx, job);
  tx.countEnding(job.queue, ending.status);
}

/** What a limit or budget counted runs no more, so another one may, of whatever queue. */
function freePlace(tx: Transaction, job: sql.JobRow): void {
  if (job.status === statusCodes.processing && isCounted(job)) tx.wakesAll = true;
}

const isCounted = ({ line, metered }: sql.JobRow): boolean => metered === 1 || ownLine(line) !== ordinary.id;

function freeAtEnd(tx: Transaction, job: sql.JobRow): void {
  if (job.uniqueKey !== null && job.scope !== scopeCodes.period)
    tx.db.run(keys.freeKey, job.uniqueKey, job.id);
}

/** Removes jobs of any status; dependents of those that had not ended follow as after a cancel. */
export function deleteJobs(tx: Transaction, jobs: readonly sql.JobRow[]): void {
  const live = jobs.filter(({ status }) => status < firstFinalCode);
  for (const { uniqueKey, id } of jobs) if (uniqueKey !== null) tx.db.run(keys.freeKey, uniqueKey, id);
  // None of them waits any more, so none is followed as a dependent of another.
  if (live.length > 1) for (const { row } of live) tx.db.run(sql.closeEdgesOfChild, row);
  for (const job of live) freePlace(tx, job);
  for (const { row } of live) tellDependents(tx, row, false);
  for (const { row } of jobs) forgetJob(tx, row);
}

/** Takes the row away, with its edges, its idempotency key, its log and what of it is kept apart. */
export function forgetJob(tx: Transaction, row: number): void {
  tx.db.run(sql.deleteEdgesOfChild, row);
  tx.db.run(sql.deleteEdgesOfParent, row);
  tx.db.run(sql.deleteIdempotency, row);
  tx.db.run(sql.deleteLog, row);
  tx.db.run(deletePayload, row);
  tx.db.run(sql.deleteTags, row);
  tx.db.run(sql.deleteJob, row);
}

/** What an operator asked for while the job ran. */
export function carryOut(tx: Transaction, job: sql.JobRow, request: StopRequest, token: Buffer | null): void {
  if (request === 'delete') deleteJobs(tx, [job]);
  else {
    const status = request === 'cancel' ? statusCodes.cancelled : statusCodes.buried;
    endJob(tx, job.row, { status, reason: 'operator', token });
  }
}

/** Back into the line. Without a due time it keeps the one it has. */
export function makePending(
  tx: Transaction,
  job: sql.JobRow,
  change: { readonly reason: string | null; readonly dueAtMs: number | null },
): void {
  const dueAtMs = change.dueAtMs === null ? null : Math.round(change.dueAtMs);
  tx.db.run(sql.makePending, change.reason, dueAtMs, job.row);
  tx.db.stretches.changed(job.kind);
  tx.wake(job.queue);
  freePlace(tx, job);
}

/** Back into the line, or into that of what must run alone. */
export function returnAfterDeath(
  tx: Transaction,
  job: sql.JobRow,
  death: { readonly delayMs: number; readonly alone: boolean },
): void {
  tx.db.run(sql.afterDeath, Math.round(tx.nowMs + death.delayMs), death.alone ? 1 : 0, job.row);
  makePending(tx, job, { reason: null, dueAtMs: null });
}

/** On down, in a loop: a chain of thousands must not exhaust the stack. */
function tellDependents(tx: Transaction, row: number, isCompleted: boolean): void {
  const ended = [{ row, isCompleted }];
  for (const parent of ended) {
    const dependents = tx.db.all<{ row: number; policy: number }>(sql.waitingDependents, parent.row);
    for (const { row: child, policy } of dependents) {
      tx.db.run(sql.closeEdge, child, parent.row);
      const waits = tx.db.value<number>(sql.waitForOneLess, child) ?? 0;
      if (!parent.isCompleted && policy !== policyCodes.run) {
        endAlone(tx, jobRow(tx, child), parentFailed(policy));
        ended.push({ row: child, isCompleted: false });
      } else if (waits === 0) {
        makePending(tx, jobRow(tx, child), { reason: null, dueAtMs: null });
      }
    }
  }
}

/** The ending of a job by its policy for parents that did not complete. */
export const parentFailed = (policy: number): Ending => ({
  status: policy === policyCodes.bury ? statusCodes.buried : statusCodes.cancelled,
  reason: 'parent-failed',
  token: null,
});
