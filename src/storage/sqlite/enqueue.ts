import { bytesToUuid, uuidToBytes } from '../../internal/uuid.js';
import type { EnqueueOutcome, NewJob } from '../new-job.js';
import { firstFinalCode, statusCodes } from '../sql/status-codes.js';
import { policyCodes, scopeCodes, tiedBits } from './codes.js';
import type { Value } from './connection.js';
import { endJob, parentFailed } from './endings.js';
import { isSqliteError } from './errors.js';
import type { Kind } from './kinds.js';
import { isOrdinary, ordinary } from './line-book.js';
import { isLong, keepApart, keptApart } from './payloads.js';
import * as sql from './queries/enqueue.js';
import * as keys from './queries/unique-keys.js';
import type { Transaction } from './transaction.js';

/** The columns that a statement writes beside those of every job. */
type Shape = 'first' | 'plain' | 'lined';

/** Rows of one insert; the remainder of a batch goes by the next smaller size. */
const insertSizes = [50, 10] as const;
const insertTexts = insertSizes.map((size) => ({
  size,
  first: sql.insertFirst(size),
  plain: sql.insertPlain(size),
  lined: sql.insertLined(size),
}));

interface Parent {
  readonly row: number;
  readonly status: number;
}

/** In order; what has neither keys, parents, tags nor a long payload goes by many rows a statement. */
export function enqueue(tx: Transaction, jobs: readonly NewJob[]): EnqueueOutcome[] {
  const outcomes: EnqueueOutcome[] = [];
  for (let at = 0; at < jobs.length; ) {
    let end = at;
    while (end < jobs.length && isUntied(jobs[end] as NewJob)) end += 1;
    if (end > at) enqueueUntied(tx, jobs.slice(at, end), outcomes);
    const tied = jobs[end];
    if (tied !== undefined) outcomes.push(enqueueTied(tx, tied));
    at = end + 1;
  }
  return outcomes;
}

function isUntied(job: NewJob): boolean {
  const isFree = job.unique === null && job.idempotency === null && job.after === null;
  return isFree && job.tags.length === 0 && !isLong(job.payload);
}

function enqueueUntied(tx: Transaction, jobs: readonly NewJob[], outcomes: EnqueueOutcome[]): void {
  let at = 0;
  for (const texts of insertTexts) {
    const { size } = texts;
    for (; jobs.length - at >= size; at += size) insertMany(tx, texts, jobs.slice(at, at + size), outcomes);
  }
  for (; at < jobs.length; at += 1) outcomes.push(insertOne(tx, jobs[at] as NewJob));
}

function insertMany(
  tx: Transaction,
  texts: Readonly<Record<Shape, string>>,
  jobs: readonly NewJob[],
  outcomes: EnqueueOutcome[],
): void {
  const values: Value[] = [];
  const shape = shapeOf(jobs);
  for (const job of jobs) pushValues(values, tx, job, shape);
  try {
    tx.db.runList(texts[shape], values);
  } catch (error) {
    // One of the ids is known (or stands twice in this call): the statement changed nothing, so each row by itself.
    if (!isSqliteError(error) || !error.code.startsWith('SQLITE_CONSTRAINT')) throw error;
    for (const job of jobs) outcomes.push(insertOne(tx, job));
    return;
  }
  for (const { id } of jobs) outcomes.push({ outcome: 'created', id });
}

function shapeOf(jobs: readonly NewJob[]): Shape {
  if (!jobs.every(isOrdinary)) return 'lined';
  return jobs.every(({ version }) => version === 1) ? 'first' : 'plain';
}

function insertOne(tx: Transaction, job: NewJob): EnqueueOutcome {
  const shape = isOrdinary(job) ? 'plain' : 'lined';
  const text = shape === 'plain' ? sql.insertPlainOne : sql.insertLinedOne;
  const isNew = tx.db.run(text, ...valuesOf(tx, job, shape)) === 1;
  return { outcome: isNew ? 'created' : 'replayed', id: job.id };
}

function valuesOf(tx: Transaction, job: NewJob, shape: Shape): Value[] {
  const values: Value[] = [];
  pushValues(values, tx, job, shape);
  return values;
}

/** What is of version 1 leaves it out in the shape `first`. */
function pushValues(values: Value[], tx: Transaction, job: NewJob, shape: Shape): void {
  const place = isOrdinary(job) ? ordinaryPlace(tx, job) : linedPlace(tx, job);
  tx.awakened.add(job.queue);
  values.push(
    uuidToBytes(job.id),
    place.kind.queueId,
    place.kind.id,
    0 - job.priority,
    dueAtMs(tx, job),
    job.maxAttempts,
    tx.nowMs,
    job.retentionMs,
  );
  if (shape !== 'first') values.push(job.version);
  values.push(isLong(job.payload) ? keptApart : job.payload);
  if (shape === 'lined') values.push(place.line);
}

const dueAtMs = (tx: Transaction, { due }: NewJob): number =>
  Math.round('atMs' in due ? due.atMs : tx.nowMs + due.inMs);

const ordinaryPlace = ({ db }: Transaction, { queue, name }: NewJob): { kind: Kind; line: number } => ({
  kind: db.kinds.ensure(queue, name),
  line: ordinary.id,
});

function linedPlace(tx: Transaction, job: NewJob): { kind: Kind; line: number } {
  const { db, nowMs } = tx;
  const kind = db.kinds.ensureLined(job.queue, job.name, job.requires);
  const line = db.lines.ensure(job, nowMs);
  const id = job.id.replaceAll('-', '').toUpperCase();
  db.stretches.note(kind, line, { rank: 0 - job.priority, dueAt: dueAtMs(tx, job), id });
  return { kind, line };
}

function enqueueTied(tx: Transaction, job: NewJob): EnqueueOutcome {
  const refusal = whatStandsAgainst(tx, job);
  if (refusal !== null) return refusal;
  const parents = findParents(tx, job);
  if (typeof parents === 'string') return { outcome: 'parent-not-found', id: parents };
  const open = parents.filter(({ status }) => status < firstFinalCode);
  const policy = job.after === null ? 0 : policyCodes[job.after.onFailure];
  const isDoomed =
    policy !== policyCodes.run &&
    parents.some(({ status }) => status === statusCodes.buried || status === statusCodes.cancelled);
  const row = insertTied(tx, job, { waits: open.length, policy, isBlocked: isDoomed || open.length > 0 });
  takeKeys(tx, job, row);
  for (const tag of job.tags) tx.db.run(sql.insertTag, tag, uuidToBytes(job.id), row);
  if (isLong(job.payload)) keepApart(tx.db, row, job.payload);
  for (const parent of parents) {
    const isOpen = parent.status < firstFinalCode;
    tx.db.run(sql.insertEdge, row, parent.row, isOpen ? 1 : 0);
    // Final ones too: a purge looks for dependents only where this says that there are some.
    tx.db.run(sql.markFollowed, parent.row);
  }
  if (isDoomed) endJob(tx, row, parentFailed(policy));
  return { outcome: 'created', id: job.id };
}

/** The order of these checks is part of the seam; parents come after them. */
function whatStandsAgainst(tx: Transaction, job: NewJob): EnqueueOutcome | null {
  const { db } = tx;
  if (db.value(sql.isKnown, uuidToBytes(job.id)) !== undefined) return { outcome: 'replayed', id: job.id };
  if (job.idempotency !== null) {
    const known = db.get<{ inputHash: string; id: Buffer }>(sql.idempotencyHolder, job.idempotency.key);
    if (known !== undefined) {
      const isSame = known.inputHash === job.idempotency.inputHash;
      return { outcome: isSame ? 'replayed' : 'idempotency-conflict', id: bytesToUuid(known.id) };
    }
  }
  if (job.unique !== null) {
    const holder = db.value<Buffer>(keys.keyHolder, job.unique.key, tx.nowMs);
    if (holder !== undefined) return { outcome: 'duplicate', id: bytesToUuid(holder) };
  }
  return null;
}

/** Each once; a text is the id of one that is not known. */
function findParents(tx: Transaction, job: NewJob): Parent[] | string {
  const parents: Parent[] = [];
  for (const id of new Set(job.after?.ids)) {
    const parent = tx.db.get<Parent>(sql.parentOf, uuidToBytes(id));
    if (parent === undefined) return id;
    parents.push(parent);
  }
  return parents;
}

function insertTied(
  tx: Transaction,
  job: NewJob,
  wait: { readonly waits: number; readonly policy: number; readonly isBlocked: boolean },
): number {
  const scope = job.unique === null ? 0 : scopeCodes[job.unique.scope];
  const row = tx.db.value<number>(
    sql.insertTied,
    ...valuesOf(tx, job, 'lined'),
    wait.isBlocked ? statusCodes.blocked : statusCodes.pending,
    scope === scopeCodes.active ? tiedBits.activeKey : 0,
    wait.waits,
    wait.policy,
    scope,
    job.unique?.key ?? null,
  );
  return row as number;
}

function takeKeys(tx: Transaction, job: NewJob, row: number): void {
  const { idempotency, unique } = job;
  if (idempotency !== null) tx.db.run(sql.insertIdempotency, idempotency.key, idempotency.inputHash, row);
  if (unique === null) return;
  const until = unique.scope === 'period' ? tx.nowMs + unique.periodMs : null;
  tx.db.run(keys.takeKey, unique.key, uuidToBytes(job.id), until);
}
