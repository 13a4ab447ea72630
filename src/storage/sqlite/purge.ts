import { statusCodes } from '../sql/status-codes.js';
import { scopeCodes } from './codes.js';
import { forgetJob } from './endings.js';
import * as sql from './queries/control.js';
import { type JobRow, jobByRow } from './queries/endings.js';
import * as keys from './queries/unique-keys.js';
import type { Transaction } from './transaction.js';

const dayMs = 86_400_000;

export interface PurgeRequest {
  readonly statuses: readonly ('completed' | 'buried' | 'cancelled')[];
  readonly olderThanMs: number;
  readonly limit: number;
}

/** Deletes up to `limit` rows in this transaction. */
export function purge(tx: Transaction, request: PurgeRequest): number {
  let purged = 0;
  for (const status of new Set(request.statuses)) {
    for (const rows of purgeableRows(tx, request, statusCodes[status], () => request.limit - purged)) {
      for (const row of rows) purgeRow(tx, row);
      purged += rows.length;
      if (purged >= request.limit) return purged;
    }
  }
  return purged;
}

/** Range after range: rows without a retention of their own, then those of each retention in use. */
function* purgeableRows(
  tx: Transaction,
  request: PurgeRequest,
  status: number,
  left: () => number,
): Generator<number[]> {
  const { db, nowMs } = tx;
  yield db.values<number>(sql.purgeable, status, nowMs - request.olderThanMs, left());
  let retentionMs = db.value<number>(sql.nextRetention, status, -1);
  while (retentionMs !== undefined) {
    // Buried jobs stay for people to look at, whatever the job said about its successes.
    const keptForMs = status === statusCodes.buried ? request.olderThanMs : retentionMs;
    yield db.values<number>(sql.purgeableKept, status, retentionMs, nowMs - keptForMs, left());
    retentionMs = db.value<number>(sql.nextRetention, status, retentionMs);
  }
}

/** With its log and keys, but for a unique period that still runs. */
function purgeRow(tx: Transaction, row: number): void {
  const job = tx.db.get<JobRow>(jobByRow, row);
  if (job === undefined) return;
  if (job.uniqueKey !== null && job.scope !== scopeCodes.period)
    tx.db.run(keys.freeKey, job.uniqueKey, job.id);
  forgetJob(tx, row);
}

/** Each deletes up to `limit` rows and answers how many. */
export const traces: readonly ((
  tx: Transaction,
  request: { olderThanMs: number; limit: number },
) => number)[] = [
  ({ db, nowMs }, { olderThanMs, limit }) => db.run(sql.purgeLines, nowMs - olderThanMs, limit),
  ({ db, nowMs }, { limit }) => db.run(keys.purgePeriods, nowMs, limit),
  ({ db, nowMs }, { limit }) => db.run(sql.purgeWorkers, nowMs - dayMs, limit),
];
