import { bytesToUuid, uuidToBytes } from '../../internal/uuid.js';
import type { HeldLease, Lease, PeekRequest } from '../claimed-job.js';
import { hasRunnable } from './claim.js';
import { Claiming } from './claiming.js';
import { lines, stopOfCode } from './codes.js';
import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import { type Abilities, dueIn, liveKinds, openQueues, ranks } from './line.js';
import * as sql from './queries/claim.js';
import { firstDueAfter } from './queries/metered.js';
import { bytesToToken, tokenRange, tokenToBytes } from './tokens.js';
import type { Transaction } from './transaction.js';

type HeldTuple = readonly [id: Buffer, token: Buffer, stop: number | null];

/** The ids whose lease is lost. */
export function markStarted(tx: Transaction, leases: readonly Lease[]): string[] {
  return leases
    .filter(({ id, token }) => tx.db.run(sql.markStarted, uuidToBytes(id), tokenToBytes(token)) === 0)
    .map(({ id }) => id);
}

export function renew(tx: Transaction, incarnation: string, leaseMs: number): HeldLease[] {
  const { from, to } = tokenRange(incarnation);
  return tx.db.tuples<HeldTuple>(sql.renew, Math.round(tx.nowMs + leaseMs), from, to).map(heldLease);
}

export function held(db: Connection, incarnation: string): HeldLease[] {
  const { from, to } = tokenRange(incarnation);
  return db.tuples<HeldTuple>(sql.held, from, to).map(heldLease);
}

/** Stop requests in one answer. */
const mostRequests = 1_000;

export function stopRequests(db: Connection, incarnations: readonly string[]): HeldLease[] {
  const found: HeldLease[] = [];
  for (const incarnation of incarnations) {
    if (found.length === mostRequests) break;
    const { from, to } = tokenRange(incarnation);
    const left = mostRequests - found.length;
    found.push(...db.tuples<HeldTuple>(sql.stopRequests, from, to, left).map(heldLease));
  }
  return found;
}

const heldLease = ([id, token, stop]: HeldTuple): HeldLease => ({
  id: bytesToUuid(id),
  token: bytesToToken(token),
  stopRequest: stopOfCode(stop),
});

export function peek(
  db: Connection,
  nowMs: number,
  request: PeekRequest,
): { dueInMs: number | null; aloneDue: boolean } {
  const claiming = new Claiming(db, { ...request, alone: false }, nowMs);
  const ofAlone = new Claiming(db, { ...request, alone: true }, nowMs);
  let dueInMs: number | null = null;
  let aloneDue = false;
  for (const take of request.takes) {
    const abilities = { names: new Set(take.names), labels: claiming.labels };
    for (const queue of openQueues(db, take.queues)) {
      const inMs = runnableIn(claiming, queue, abilities);
      if (inMs !== null) dueInMs = Math.min(dueInMs ?? inMs, inMs);
      aloneDue ||= hasRunnable(ofAlone, queue, abilities);
    }
  }
  return { dueInMs, aloneDue };
}

/** Ms until a job of the queue falls due; what is due and may not run falls due no more. */
function runnableIn(claiming: Claiming, queue: number, abilities: Abilities): number | null {
  const { db, nowMs } = claiming;
  const kinds = liveKinds(db, queue, abilities);
  const isMetered = claiming.isMetered(queue, kinds);
  if (isMetered && claiming.hasRunnable(queue, kinds)) return 0;
  let least = Infinity;
  for (const kind of kinds) {
    if (!isMetered) least = Math.min(least, dueIn(db, kind, lines.ordinary, nowMs) ?? Infinity);
    else for (const dueAt of laterDues(db, kind, nowMs)) least = Math.min(least, dueAt - nowMs);
  }
  return Number.isFinite(least) ? least : null;
}

/** Of each line and rank of a kind, when the first job that is not due yet falls due. */
function* laterDues(db: Connection, kind: Kind, nowMs: number): Generator<number> {
  const places =
    kind.requires === null
      ? [...ranks(db, kind, lines.ordinary)].map((rank) => [lines.ordinary, rank] as const)
      : [...db.stretches.of(kind)].map(({ line, rank }) => [line.id, rank] as const);
  for (const [line, rank] of places) {
    const dueAt = db.value<number>(firstDueAfter, kind.queueId, kind.id, line, rank, nowMs);
    if (dueAt !== undefined) yield dueAt;
  }
}
