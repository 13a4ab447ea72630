import { uuidToBytes } from '../../internal/uuid.js';
import type { StopRequest } from '../claimed-job.js';
import type { ControlOutcome } from '../settlement.js';
import { firstFinalCode, statusCodes } from '../sql/status-codes.js';
import { scopeCodes, stopCodes, tiedBits } from './codes.js';
import { deleteJob, endJob, makePending } from './endings.js';
import * as sql from './queries/control.js';
import { type JobRow, jobById, jobByRow } from './queries/endings.js';
import { setPaused as updatePaused } from './queries/kinds.js';
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

/** What an operator asks of one job: at once where nothing runs, else as a request to its worker. */
export function stop(tx: Transaction, id: string, request: StopRequest): ControlOutcome {
  const job = tx.db.get<JobRow>(jobById, uuidToBytes(id));
  if (job === undefined) return 'not-found';
  if (job.status === statusCodes.processing) {
    tx.db.run(sql.requestStop, stopCodes[request], job.row);
    return 'requested';
  }
  if (request === 'delete') {
    deleteJob(tx, job);
    return 'done';
  }
  if (job.status >= firstFinalCode) return 'already-final';
  const status = request === 'cancel' ? statusCodes.cancelled : statusCodes.buried;
  endJob(tx, job.row, { status, reason: 'operator', token: null });
  return 'done';
}

export function setPaused(tx: Transaction, queue: string, isPaused: boolean): void {
  const id = isPaused ? tx.db.kinds.ensureQueue(queue) : tx.db.kinds.queueId(queue);
  if (id === undefined) return;
  const flag = isPaused ? 1 : 0;
  if (tx.db.run(updatePaused, flag, id, flag) === 1 && !isPaused) tx.awakened.add(queue);
}
