import { bytesToUuid, uuidToBytes } from '../../internal/uuid.js';
import type { ExpiredLease, TakeBack, TakeBackOutcome } from '../settlement.js';
import { firstFinalCode, statusCodes } from '../sql/status-codes.js';
import { policyCodes, stopOfCode } from './codes.js';
import type { Connection } from './connection.js';
import { carryOut, endJob, jobRow, makePending, parentFailed, returnAfterDeath } from './endings.js';
import { type JobRow, jobById } from './queries/endings.js';
import * as sql from './queries/recover.js';
import { bytesToToken, tokenToBytes } from './tokens.js';
import type { Transaction } from './transaction.js';

export interface ExpiredRequest {
  readonly expiredForMs: number;
  readonly limit: number;
  readonly after?: { readonly leaseUntilMs: number; readonly id: string };
}

export function expired(db: Connection, nowMs: number, request: ExpiredRequest): ExpiredLease[] {
  const { after, expiredForMs, limit } = request;
  const rows = db.all<sql.ExpiredRow>(
    sql.expired,
    nowMs - expiredForMs,
    after?.leaseUntilMs ?? Number.MIN_SAFE_INTEGER,
    after === undefined ? Buffer.alloc(0) : uuidToBytes(after.id),
    limit,
  );
  return rows.map((row) => expiredLease(db, nowMs, row));
}

function expiredLease(db: Connection, nowMs: number, row: sql.ExpiredRow): ExpiredLease {
  const { name, queue } = db.kinds.byId(row.kind);
  const { attempts, maxAttempts, deaths, lapses, errors } = row;
  return {
    id: bytesToUuid(row.id),
    token: bytesToToken(row.token),
    name,
    queue,
    workerId: row.worker ?? '',
    started: row.started === 1,
    ranAlone: row.line < 0,
    attempts,
    maxAttempts,
    deaths,
    lapses,
    errors,
    stopRequest: stopOfCode(row.stop),
    leaseUntilMs: row.leaseUntil,
    expiredForMs: nowMs - row.leaseUntil,
  };
}

export function takeBack(tx: Transaction, decisions: readonly TakeBack[]): TakeBackOutcome[] {
  return decisions.map((decision) => takeBackOne(tx, decision));
}

function takeBackOne(tx: Transaction, decision: TakeBack): TakeBackOutcome {
  const job = tx.db.get<JobRow>(jobById, uuidToBytes(decision.id));
  const isHeld =
    job?.status === statusCodes.processing &&
    job.token?.equals(tokenToBytes(decision.token)) === true &&
    job.leaseUntil === decision.leaseUntilMs;
  if (!isHeld) return 'renewed';
  const request = stopOfCode(job.stop);
  // Nobody withdraws a request, so a rescuer that saw one and a job that has none don't go together.
  if (decision.kind === 'stopped' && request === null) return 'renewed';
  recordDeath(tx, job, decision);
  if (request !== null) carryOut(tx, job, request, null);
  else if (decision.kind === 'poison')
    endJob(tx, job.row, { status: statusCodes.buried, reason: 'poison', token: null });
  else if (decision.kind === 'died') returnAfterDeath(tx, job, decision);
  else makePending(tx, job, { reason: null, dueAtMs: null });
  return 'done';
}

/** What happened to the job, whatever becomes of it. */
function recordDeath({ db }: Transaction, job: JobRow, decision: TakeBack): void {
  if (decision.kind === 'lapsed') db.run(sql.countLapse, job.row);
  if (decision.kind === 'died' || decision.kind === 'poison')
    db.run(sql.countDeath, decision.errors, job.row);
}

/** A page of blocked jobs: those that wait for nothing that could still end, and where the next page begins. */
export function releasable(
  db: Connection,
  after: sql.BlockedPlace,
  size: number,
): { readonly rows: number[]; readonly last: sql.BlockedPlace | null } {
  const blocked = db.all<sql.BlockedPlace>(sql.blockedAfter, after.queue, after.row, size);
  const rows = blocked.map(({ row }) => row);
  return {
    rows: rows.filter((row) => db.values<number | null>(sql.openParents, row).every(hasEnded)),
    last: blocked.length < size ? null : (blocked.at(-1) ?? null),
  };
}

const hasEnded = (status: number | null): boolean => status === null || status >= firstFinalCode;

/** Ends their waiting, each checked again; answers how many it moved. */
export function release(tx: Transaction, rows: readonly number[]): number {
  let moved = 0;
  for (const row of rows) {
    const parents = tx.db.values<number | null>(sql.openParents, row);
    if (!parents.every(hasEnded)) continue;
    const job = tx.db.get<{ policy: number }>(sql.stopWaiting, row);
    if (job === undefined) continue;
    tx.db.run(sql.closeEdges, row);
    moved += 1;
    const isMet =
      job.policy === policyCodes.run || parents.every((status) => status === statusCodes.completed);
    if (isMet) makePending(tx, jobRow(tx, row), { reason: null, dueAtMs: null });
    else endJob(tx, row, parentFailed(job.policy));
  }
  return moved;
}
