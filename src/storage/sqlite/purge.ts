import { auditKeptMs } from '../audit.js';
import { hubKeptMs } from '../hub-record.js';
import { statusCodes } from '../sql/status-codes.js';
import { scopeCodes } from './codes.js';
import { forgetJob } from './endings.js';
import { dayMs } from './line-book.js';
import { minuteMs } from './profiles.js';
import * as sql from './queries/control.js';
import { type JobRow, jobByRow } from './queries/endings.js';
import { purge as purgeHubs } from './queries/hubs.js';
import * as lines from './queries/lines.js';
import { purgeProfiles } from './queries/profiles.js';
import * as keys from './queries/unique-keys.js';
import type { Transaction } from './transaction.js';

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
  ({ db, nowMs }, { limit }) => db.run(purgeProfiles, Math.floor((nowMs - dayMs) / minuteMs), limit),
  ({ db, nowMs }, { limit }) => db.run(sql.hideWorkers, nowMs - dayMs, limit),
  ({ db, nowMs }, { limit }) => db.run(purgeHubs, nowMs - hubKeptMs, limit),
  ({ db, nowMs }, { limit }) => db.run(sql.purgeAudit, nowMs - auditKeptMs, limit),
];

/** Forgets up to `limit` lines that no job has and none was given for a day, and keys that have no line left. */
export function purgeLines({ db, nowMs }: Transaction, limit: number): void {
  const rows = db.all<{ id: number; gate: number | null }>(lines.notNamedSince, nowMs - dayMs, limit);
  for (const { id, gate } of rows) {
    // One that is in use is looked at again tomorrow, so that it does not stand in the way of others.
    if (db.value<number>(lines.isInUse, id, id) === 1) db.run(lines.setNamed, nowMs, id);
    else {
      db.run(lines.deleteLine, id);
      if (gate !== null) db.run(lines.deleteGate, gate);
    }
  }
}
