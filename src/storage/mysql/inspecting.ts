import type { JobStatus } from '../../core/job-status.js';
import { bytesToUuid } from '../../internal/uuid.js';
import { unbounded } from '../job-limit.js';
import type { JobEnding, JobRecord, JobSummary, QueueStats } from '../job-record.js';
import { statusOfCode } from '../sql/status-codes.js';
import { aloneLine, ordinaryLine, stopOf } from './codes.js';
import type { Context } from './context.js';
import { type Marks, marksOf, marksWidth } from './marks.js';
import { openParentsOf, parentsOf } from './queries/dependents.js';
import {
  aheadStatement,
  countsStatement,
  endingsStatement,
  errorsStatement,
  idsEndingInStatement,
  nameIdStatement,
  pendingPlace,
  queuesStatement,
  recordStatement,
  summariesStatement,
} from './queries/inspect.js';
import { hexId, type Sql } from './sql.js';

const summaryWidth = 17;

export async function job(context: Context, id: string): Promise<JobRecord | null> {
  const hex = hexId(id);
  const [result] = await context.side.send('reading a job', recordStatement(context.t, hex));
  const row = result?.rows[0];
  if (row === undefined) return null;
  const [summary] = await summariesOf(context, [row]);
  if (summary === undefined) return null;
  const waitsFor = summary.status === 'blocked' ? await idsBy(context, openParentsOf(context.t, hex)) : [];
  const lineId = row.at(-1) as number | null;
  await context.lines.load([lineId ?? 0]);
  const record = recordOf(summary, row, { waitsFor, line: boundsOf(context.lines.line(lineId)) });
  if (record.reason !== 'parent-failed') return record;
  return { ...record, waitedFor: await idsBy(context, parentsOf(context.t, hex)) };
}

type Bounds = Pick<JobRecord, 'limit' | 'cost' | 'requires'>;

function boundsOf(line: Bounds | undefined): Bounds | undefined {
  if (line === undefined) return undefined;
  const { limit, cost, requires } = line;
  return { limit, cost, requires };
}

/** The name of a job as the main connection sees it, which may be that of a transaction of the user's. */
export async function ownNameOf(context: Context, id: string): Promise<string | null> {
  const [result] = await context.main.send('reading a job', nameIdStatement(context.t, hexId(id)));
  const nameId = result?.rows[0]?.[0];
  if (typeof nameId !== 'number') return null;
  await context.names.load([nameId]);
  return context.names.name(nameId);
}

async function idsBy(context: Context, parents: Sql): Promise<string[]> {
  const [result] = await context.side.send('reading what a job waits for', parents);
  return (result?.rows ?? []).map(([parent]) => bytesToUuid(parent as Buffer));
}

function recordOf(
  summary: JobSummary,
  row: readonly unknown[],
  { waitsFor, line }: { waitsFor: readonly string[]; line: Bounds | undefined },
): JobRecord {
  const marks = marksOf(row);
  const isProcessing = summary.status === 'processing';
  const [version, payload, retentionMs, uniqueKey, result, outcome, reason, stop, leaseUntil, started] =
    row.slice(marksWidth + summaryWidth);
  return {
    ...summary,
    payload: payload as string,
    version: version as number,
    result: (result as string | null) ?? null,
    errors: marks?.errors ?? null,
    outcome: outcome === 1 ? 'skipped' : null,
    reason:
      (summary.finishedAtMs === null ? (isProcessing ? null : marks?.reason) : (reason as string | null)) ??
      null,
    stopRequest: isProcessing ? stopOf(stop as number) : null,
    leaseUntilMs: isProcessing ? (leaseUntil as number) : null,
    started: isProcessing && started === 1,
    lapses: marks?.lapses ?? 0,
    alone: marks?.line === aloneLine,
    uniqueKey: (uniqueKey as Buffer | null)?.toString() ?? null,
    retentionMs: retentionMs as number | null,
    waitsFor,
    waitedFor: [],
    ...(line ?? unbounded),
  };
}

/** Summaries of these ids, in their order; those that are gone by now are left out. */
export async function summaries(context: Context, ids: readonly string[]): Promise<JobSummary[]> {
  if (ids.length === 0) return [];
  const [result] = await context.side.send('reading jobs', summariesStatement(context.t, ids.map(hexId)));
  const found = new Map(
    (await summariesOf(context, result?.rows ?? [])).map((summary) => [summary.id, summary]),
  );
  return ids.flatMap((id) => found.get(id) ?? []);
}

/** The failures of those of these jobs that have failed. */
export async function failuresOf(context: Context, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const [result] = await context.side.send('reading failures', errorsStatement(context.t, ids.map(hexId)));
  return new Map((result?.rows ?? []).map(([id, errors]) => [bytesToUuid(id as Buffer), errors as string]));
}

export async function ahead(context: Context, id: string): Promise<number | null> {
  const hex = hexId(id);
  const [found] = await context.side.send('looking up a place', pendingPlace(context.t, hex));
  const row = found?.rows[0] as [number, number, number, number] | undefined;
  if (row === undefined) return null;
  const [queueId, line, rnk, due] = row;
  const place = { queueId, line, rnk, due };
  const [count] = await context.side.send('counting', aheadStatement(context.t, hex, place, context.now()));
  return Number(count?.rows[0]?.[0]);
}

async function summariesOf(context: Context, rows: readonly (readonly unknown[])[]): Promise<JobSummary[]> {
  const parts = rows.map((row) => ({ marks: marksOf(row), row: row.slice(marksWidth) }));
  await context.queues.load(parts.map(({ row }) => row[2] as number));
  await context.names.load(
    parts.flatMap(({ row, marks }) =>
      [row[1], row[11], row[14], marks?.workerId].filter((id): id is number => typeof id === 'number'),
    ),
  );
  return parts.map(({ row, marks }) => summaryOf(context, row, marks));
}

function summaryOf(context: Context, row: readonly unknown[], marks: Marks | null): JobSummary {
  const [
    id,
    nameId,
    queueId,
    rnk,
    due,
    createdAt,
    maxAttempts,
    final,
    finalDue,
    finalClaimedAt,
    finishedAt,
    finalWorker,
  ] = row as [Buffer, number, number, number, number, number, number, ...(number | null)[]];
  const [isLeased, leasedAt, leaseWorker, isBlocked] = row.slice(12) as (number | null)[];
  const tags = row[16] as Buffer | null;
  const status = statusFrom(final ?? null, isLeased === 1, isBlocked === 1);
  const workerId = status === 'processing' ? leaseWorker : final === null ? marks?.workerId : finalWorker;
  const claimedAt = status === 'processing' ? leasedAt : final === null ? marks?.claimedAt : finalClaimedAt;
  return {
    id: bytesToUuid(id),
    name: context.names.name(nameId),
    queue: context.queues.name(queueId),
    status,
    priority: 0 - rnk,
    attempts: marks?.attempts ?? 0,
    maxAttempts,
    deaths: marks?.deaths ?? 0,
    createdAtMs: createdAt,
    dueAtMs: finalDue ?? marks?.due ?? due,
    claimedAtMs: claimedAt ?? null,
    finishedAtMs: finishedAt ?? null,
    workerId: typeof workerId === 'number' ? context.names.name(workerId) : null,
    tags: tags === null ? [] : tags.toString().split(' ').sort(),
  };
}

function statusFrom(final: number | null, isLeased: boolean, isBlocked: boolean): JobStatus {
  if (final !== null) return statusOfCode[final] ?? 'completed';
  return isLeased ? 'processing' : isBlocked ? 'blocked' : 'pending';
}

export async function endings(context: Context, ids: readonly string[]): Promise<JobEnding[]> {
  if (ids.length === 0) return [];
  const [result] = await context.side.send('reading endings', endingsStatement(context.t, ids.map(hexId)));
  return (result?.rows ?? []).map((row) => {
    const [id, final, isLeased, isBlocked, text, errors, reason] = row as [
      Buffer,
      number | null,
      number,
      number,
      ...(string | null)[],
    ];
    return {
      id: bytesToUuid(id),
      status: statusFrom(final, isLeased === 1, isBlocked === 1),
      result: text ?? null,
      errors: errors ?? null,
      reason: reason ?? null,
    };
  });
}

export async function idsEndingIn(context: Context, suffix: string): Promise<string[]> {
  const text = suffix.toLowerCase();
  if (!/^[0-9a-f-]{1,36}$/.test(text)) return [];
  const digits = text.replaceAll('-', '');
  if (digits === '') return [];
  const [result] = await context.side.send('looking for an id', idsEndingInStatement(context.t, digits));
  const ids = (result?.rows ?? []).map(([id]) => bytesToUuid(id as Buffer));
  return [...new Set(ids)].filter((id) => id.endsWith(text)).slice(0, 10);
}

export async function stats(context: Context, queue?: string): Promise<QueueStats[]> {
  const id = queue === undefined ? null : ((await context.queues.find(queue)) ?? -1);
  const [queues] = await context.side.send('reading queues', queuesStatement(context.t, id, context.now()));
  const [counts] = await context.side.send('counting jobs', countsStatement(context.t, id, context.now()));
  const rows = (queues?.rows ?? []) as [number, number, number, number][];
  await context.queues.load(rows.map(([queueId]) => queueId));
  const all = (counts?.rows ?? []).map((row) => row.map((cell) => (cell === null ? null : Number(cell))));
  const listed = rows.flatMap(([queueId, paused, hasHadJobs, now]): QueueStats[] => {
    if (queue === undefined && paused === 0 && hasHadJobs === 0) return [];
    const own = all.filter(([, of]) => of === queueId);
    return [statsOf(context.queues.name(queueId), paused === 1, own, Number(now))];
  });
  if (queue !== undefined && listed.length === 0) return [statsOf(queue, false, [], 0)];
  return listed.sort((a, b) => (a.queue < b.queue ? -1 : 1));
}

/** Of those with a number, the ones that ever had a job: asking for a queue gives it a number too. */
export async function queues(context: Context): Promise<string[]> {
  const [read] = await context.side.send('reading queues', queuesStatement(context.t, null, context.now()));
  const rows = (read?.rows ?? []) as [number, number, number, number][];
  const ids = rows.filter(([, , hasHadJobs]) => hasHadJobs !== 0).map(([id]) => id);
  await context.queues.load(ids);
  return ids.map((id) => context.queues.name(id)).sort();
}

function statsOf(
  queue: string,
  paused: boolean,
  rows: readonly (number | null)[][],
  nowMs: number,
): QueueStats {
  const count = (kind: number, detail: number): number =>
    rows.find((row) => row[0] === kind && row[2] === detail)?.[3] ?? 0;
  const dueNow = ordinaryLine * 10 + 1;
  const claimable = paused ? 0 : count(0, dueNow);
  const oldest = rows.find((row) => row[0] === 0 && row[2] === dueNow)?.[4] ?? null;
  return {
    queue,
    paused,
    pending: rows.reduce((sum, row) => sum + (row[0] === 0 ? (row[3] ?? 0) : 0), 0),
    claimable,
    blocked: count(2, 0),
    processing: count(1, 0),
    completed: count(3, statusOfCode.indexOf('completed')),
    buried: count(3, statusOfCode.indexOf('buried')),
    cancelled: count(3, statusOfCode.indexOf('cancelled')),
    oldestDueForMs: claimable === 0 || oldest === null ? null : Math.max(nowMs - oldest, 0),
  };
}
