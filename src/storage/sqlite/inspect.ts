import { bytesToUuid, uuidToBytes } from '../../internal/uuid.js';
import type { JobEnding, JobRecord, JobSummary, QueueStats } from '../job-record.js';
import { statusCodes, statusOfCode } from '../sql/status-codes.js';
import { lines, stopOfCode } from './codes.js';
import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import { liveKindIds, ranks } from './line.js';
import { ownLine } from './line-book.js';
import { payloadOf } from './payloads.js';
import * as claims from './queries/claim.js';
import * as ended from './queries/ended-counts.js';
import * as sql from './queries/inspect.js';
import * as kinds from './queries/kinds.js';

const statusOf = (code: number): JobSummary['status'] => statusOfCode[code] ?? 'pending';

export function summaryOf(db: Connection, row: sql.SummaryRow): JobSummary {
  const kind = db.kinds.byId(row.kind);
  return {
    id: bytesToUuid(row.id),
    name: kind.name,
    queue: kind.queue,
    status: statusOf(row.status),
    priority: 0 - row.rank,
    attempts: row.attempts,
    maxAttempts: row.maxAttempts,
    deaths: row.deaths,
    createdAtMs: row.createdAt,
    dueAtMs: row.dueAt,
    claimedAtMs: row.claimedAt,
    finishedAtMs: row.finishedAt,
    workerId: row.worker,
    tags: db.values<string>(sql.tagsOf, row.row),
  };
}

export function job(db: Connection, id: string): JobRecord | null {
  const row = db.get<sql.RecordRow>(sql.recordOf, uuidToBytes(id));
  if (row === undefined) return null;
  const { payload, result, errors, outcome, reason, lapses, uniqueKey, retentionMs } = row;
  // What belongs to a lease is left in the row when it ends, and counts no more.
  const isProcessing = row.status === statusCodes.processing;
  const { limit, cost, requires } = db.lines.byId(ownLine(row.line));
  const waitsFor = row.status === statusCodes.blocked ? db.values<Buffer>(sql.waitsFor, row.row) : [];
  const waitedFor = reason === 'parent-failed' ? db.values<Buffer>(sql.waitedFor, row.row) : [];
  return {
    ...summaryOf(db, row),
    payload: payloadOf(db, row.id, payload),
    version: row.version,
    result,
    errors,
    outcome,
    reason,
    stopRequest: isProcessing ? stopOfCode(row.stop) : null,
    leaseUntilMs: isProcessing ? row.leaseUntil : null,
    started: isProcessing && row.started === 1,
    lapses,
    alone: row.line < 0,
    uniqueKey,
    retentionMs,
    waitsFor: waitsFor.map(bytesToUuid),
    waitedFor: waitedFor.map(bytesToUuid),
    limit,
    cost,
    requires,
  };
}

const mostAhead = 10_000;

export function ahead(db: Connection, nowMs: number, id: string): number | null {
  const place = db.get<sql.PlaceRow>(sql.pendingPlace, uuidToBytes(id));
  if (place === undefined) return null;
  let count = 0;
  for (const kindId of liveKindIds(db, place.queue)) {
    for (const rank of ranks(db, db.kinds.byId(kindId), place.line)) {
      const left = mostAhead - count;
      if (rank > place.rank || left === 0) break;
      const range = [place.queue, kindId, place.line, rank] as const;
      const { dueAt, id: ownId } = place;
      count +=
        (rank === place.rank
          ? db.value<number>(sql.countBefore, ...range, Math.min(nowMs, dueAt), dueAt, ownId, left)
          : db.value<number>(sql.countDueUpTo, ...range, nowMs, left)) ?? 0;
    }
  }
  return count;
}

export function endings(db: Connection, ids: readonly string[]): JobEnding[] {
  return ids.flatMap((id) => {
    const row = db.get<Omit<JobEnding, 'id' | 'status'> & { status: number }>(sql.endingOf, uuidToBytes(id));
    return row === undefined ? [] : [{ ...row, id, status: statusOf(row.status) }];
  });
}

const newestFinal = 10_000;
const mostIds = 10;

export function idsEndingIn(db: Connection, suffix: string): string[] {
  const text = suffix.toLowerCase();
  const digits = text.replaceAll('-', '');
  if (!/^[0-9a-f]+$/.test(digits)) return [];
  const pattern = `%${digits}`;
  const found = [
    ...db.values<Buffer>(sql.processingEndingIn, pattern, mostIds),
    ...db.values<Buffer>(sql.pendingEndingIn, pattern, mostIds),
    ...db.values<Buffer>(sql.listedEndingIn, statusCodes.blocked, -1, pattern, mostIds),
    ...[statusCodes.completed, statusCodes.buried, statusCodes.cancelled].flatMap((status) =>
      db.values<Buffer>(sql.listedEndingIn, status, newestFinal, pattern, mostIds),
    ),
  ];
  const ids = found.map(bytesToUuid).filter((id) => id.endsWith(text));
  return ids.slice(0, mostIds);
}

export function stats(db: Connection, nowMs: number, queue?: string): QueueStats[] {
  const counts: LiveCounts = {
    blocked: countsByQueue(db, sql.countBlocked),
    processing: countsByQueue(db, sql.countProcessing),
    paused: new Set(db.values<number>(kinds.pausedQueueIds)),
  };
  if (queue !== undefined) return [queueStats(db, nowMs, queue, counts)];
  const names = db.values<string>(kinds.queueNames).sort();
  return names.map((name) => queueStats(db, nowMs, name, counts)).filter(isWorthListing);
}

export function queues(db: Connection): string[] {
  return db.values<string>(kinds.queueNames).sort();
}

interface LiveCounts {
  readonly blocked: ReadonlyMap<number, number>;
  readonly processing: ReadonlyMap<number, number>;
  readonly paused: ReadonlySet<number>;
}

/** A queue that was only ever paused and resumed is none. */
const isWorthListing = (stats: QueueStats): boolean =>
  stats.paused ||
  stats.pending + stats.blocked + stats.processing + stats.completed + stats.buried + stats.cancelled > 0;

function countsByQueue(db: Connection, text: string): Map<number, number> {
  return new Map(db.all<{ queue: number; n: number }>(text).map(({ queue, n }) => [queue, n]));
}

function queueStats(db: Connection, nowMs: number, queue: string, live: LiveCounts): QueueStats {
  const id = db.kinds.queueId(queue) ?? -1;
  const finals = new Map(
    db.all<{ status: number; n: number }>(ended.endedOfQueue, id).map(({ status, n }) => [status, n]),
  );
  const paused = live.paused.has(id);
  const due = paused ? { count: 0, oldest: null } : dueJobs(db, nowMs, id);
  return {
    queue,
    paused,
    pending: db.value<number>(sql.countPending, id) ?? 0,
    claimable: due.count,
    blocked: live.blocked.get(id) ?? 0,
    processing: live.processing.get(id) ?? 0,
    completed: finals.get(statusCodes.completed) ?? 0,
    buried: finals.get(statusCodes.buried) ?? 0,
    cancelled: finals.get(statusCodes.cancelled) ?? 0,
    oldestDueForMs: due.oldest === null ? null : nowMs - due.oldest,
  };
}

function dueJobs(db: Connection, nowMs: number, queue: number): { count: number; oldest: number | null } {
  let count = 0;
  let oldest: number | null = null;
  for (const kindId of liveKindIds(db, queue)) {
    for (const due of dueOfKind(db, nowMs, db.kinds.byId(kindId))) {
      if (due.count === 0) continue;
      count += due.count;
      oldest = Math.min(oldest ?? Infinity, due.oldest ?? Infinity);
    }
  }
  return { count, oldest };
}

/** Of ordinary jobs range by range, so that what is not due is not walked through. */
function* dueOfKind(db: Connection, nowMs: number, kind: Kind): Generator<sql.DueRow> {
  if (kind.requires !== null) {
    yield db.get<sql.DueRow>(sql.countDueInLines, kind.queueId, kind.id, nowMs) as sql.DueRow;
    return;
  }
  for (const rank of ranks(db, kind, lines.ordinary)) {
    const range = [kind.queueId, kind.id, lines.ordinary, rank] as const;
    const count = db.value<number>(sql.countDue, ...range, nowMs) ?? 0;
    yield { count, oldest: db.value<number>(claims.firstDue, ...range) ?? null };
  }
}
