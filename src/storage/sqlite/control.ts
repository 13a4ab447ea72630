import type { JobStatus } from '../../core/job-status.js';
import { uuidToBytes } from '../../internal/uuid.js';
import type { StopRequest } from '../claimed-job.js';
import type { ControlChange, ControlOutcome, JobEdit } from '../settlement.js';
import { firstFinalCode, statusCodes } from '../sql/status-codes.js';
import { scopeCodes, stopCodes, tiedBits } from './codes.js';
import { deleteJobs, endJobs, makePending } from './endings.js';
import { isLong, keepApart, keptApart } from './payloads.js';
import * as sql from './queries/control.js';
import { type JobRow, jobById, jobByRow } from './queries/endings.js';
import { setPaused as updatePaused } from './queries/kinds.js';
import { deletePayload } from './queries/payloads.js';
import * as keys from './queries/unique-keys.js';
import type { Transaction } from './transaction.js';

export function retry(tx: Transaction, id: string): ControlOutcome {
  const job = tx.db.get<JobRow>(jobById, uuidToBytes(id));
  if (job === undefined) return 'not-found';
  if (job.status === statusCodes.pending) {
    makePending(tx, job, { reason: null, dueAtMs: tx.nowMs });
    return 'done';
  }
  const isRetriable = job.status === statusCodes.buried || job.status === statusCodes.cancelled;
  return isRetriable ? retryEnded(tx, job) : 'not-allowed';
}

function retryEnded(tx: Transaction, job: JobRow): 'done' | 'duplicate' {
  const isActive = job.scope === scopeCodes.active && job.uniqueKey !== null;
  if (isActive && job.uniqueKey !== null) {
    if (tx.db.value(keys.keyHolder, job.uniqueKey, tx.nowMs) !== undefined) return 'duplicate';
    tx.db.run(keys.takeKey, job.uniqueKey, job.id, null);
  }
  const followed = job.tied & tiedBits.followed;
  tx.db.run(sql.resetForRetry, followed | (isActive ? tiedBits.activeKey : 0), job.row);
  makePending(tx, job, { reason: null, dueAtMs: tx.nowMs });
  return 'done';
}

export interface BuriedPage {
  readonly retried: number;
  readonly duplicates: number;
  /** The last id looked at; null after the last page. */
  readonly last: Buffer | null;
}

/** Retries among the next `size` buried jobs after an id, up to `limit`. */
export function retryBuriedPage(
  tx: Transaction,
  page: {
    readonly queue: string | undefined;
    readonly after: Buffer;
    readonly size: number;
    readonly limit: number;
  },
): BuriedPage {
  const queueId = page.queue === undefined ? undefined : tx.db.kinds.queueId(page.queue);
  if (page.queue !== undefined && queueId === undefined) return { retried: 0, duplicates: 0, last: null };
  const rows = tx.db.all<{ row: number; id: Buffer; queue: number }>(sql.buriedAfter, page.after, page.size);
  let retried = 0;
  let duplicates = 0;
  for (const { row, queue } of rows) {
    if (retried === page.limit) return { retried, duplicates, last: null };
    if (queueId !== undefined && queue !== queueId) continue;
    if (retryEnded(tx, tx.db.get<JobRow>(jobByRow, row) as JobRow) === 'done') retried += 1;
    else duplicates += 1;
  }
  return { retried, duplicates, last: rows.length < page.size ? null : (rows.at(-1)?.id ?? null) };
}

export function edit(tx: Transaction, id: string, change: JobEdit): ControlOutcome {
  const job = tx.db.get<JobRow>(jobById, uuidToBytes(id));
  if (job === undefined) return 'not-found';
  if (job.status >= firstFinalCode) return 'already-final';
  const isBlocked = job.status === statusCodes.blocked;
  if (job.status === statusCodes.processing || (isBlocked && change.due !== undefined)) return 'not-allowed';
  applyEdit(tx, job, change);
  if (!isBlocked) tx.wake(tx.db.kinds.queueId(change.queue ?? '') ?? job.queue);
  return 'done';
}

function applyEdit(tx: Transaction, job: JobRow, { payload, version, priority, due, queue }: JobEdit): void {
  const { db, nowMs } = tx;
  db.stretches.changed(job.kind);
  const dueAtMs = due === undefined ? null : Math.round('atMs' in due ? due.atMs : nowMs + due.inMs);
  db.run(
    sql.edit,
    priority === undefined ? null : 0 - priority,
    dueAtMs,
    dueAtMs === null ? 0 : 1,
    payload === undefined ? null : isLong(payload) ? keptApart : payload,
    payload === undefined ? null : (version ?? null),
    job.row,
  );
  if (payload !== undefined) {
    db.run(deletePayload, job.row);
    if (isLong(payload)) keepApart(db, job.row, payload);
  }
  if (queue === undefined) return;
  const { name, requires } = db.kinds.byId(job.kind);
  const kind = requires === null ? db.kinds.ensure(queue, name) : db.kinds.ensureLined(queue, name, requires);
  db.run(sql.moveToKind, kind.queueId, kind.id, job.row);
  db.stretches.changed(kind.id);
}

/** What an operator asks of one job: at once where nothing runs, else as a request to its worker. */
export function stop(tx: Transaction, id: string, request: StopRequest): ControlOutcome {
  return stopMany(tx, [id], request)[0] ?? 'not-found';
}

function stopMany(tx: Transaction, ids: readonly string[], request: StopRequest): ControlOutcome[] {
  const ending: JobRow[] = [];
  const outcomes = ids.map((id): ControlOutcome => {
    const job = tx.db.get<JobRow>(jobById, uuidToBytes(id));
    if (job === undefined) return 'not-found';
    if (job.status === statusCodes.processing) {
      tx.db.run(sql.requestStop, stopCodes[request], job.row);
      return 'requested';
    }
    if (request !== 'delete' && job.status >= firstFinalCode) return 'already-final';
    ending.push(job);
    return 'done';
  });
  if (request === 'delete') deleteJobs(tx, ending);
  else {
    const status = request === 'cancel' ? statusCodes.cancelled : statusCodes.buried;
    endJobs(tx, ending, { status, reason: 'operator', token: null });
  }
  return outcomes;
}

export function changeMany(
  tx: Transaction,
  { change, ids, status }: { change: ControlChange; ids: readonly string[]; status?: JobStatus },
): ControlOutcome[] {
  const isOpen = (id: string): boolean => {
    if (status === undefined) return true;
    const found = tx.db.get<JobRow>(jobById, uuidToBytes(id));
    return found === undefined || found.status === statusCodes[status];
  };
  // Ascending: of those that want one unique key the lowest id gets it.
  const open = ids.filter(isOpen).sort();
  const outcomes = changeEach(tx, change, open);
  const byJob = new Map(open.map((id, index) => [id, outcomes[index]]));
  return ids.map((id) => byJob.get(id) ?? 'not-allowed');
}

function changeEach(tx: Transaction, change: ControlChange, ids: readonly string[]): ControlOutcome[] {
  switch (change.kind) {
    case 'retry':
      return ids.map((id) => retry(tx, id));
    case 'edit':
      return ids.map((id) => edit(tx, id, change.edit));
    default:
      return stopMany(tx, ids, change.kind);
  }
}

export function setPaused(tx: Transaction, queue: string, isPaused: boolean): void {
  const id = isPaused ? tx.db.kinds.ensureQueue(queue) : tx.db.kinds.queueId(queue);
  if (id === undefined) return;
  const flag = isPaused ? 1 : 0;
  if (tx.db.run(updatePaused, flag, id, flag) === 1 && !isPaused) tx.awakened.add(queue);
}
