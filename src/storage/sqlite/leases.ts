import { bytesToUuid, uuidToBytes } from '../../internal/uuid.js';
import type { HeldLease, Lease } from '../claimed-job.js';
import { dueIn } from './claim.js';
import { lines, stopOfCode } from './codes.js';
import type { Connection } from './connection.js';
import { liveKinds, openQueues } from './line.js';
import * as sql from './queries/claim.js';
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

const heldLease = ([id, token, stop]: HeldTuple): HeldLease => ({
  id: bytesToUuid(id),
  token: bytesToToken(token),
  stopRequest: stopOfCode(stop),
});

export function peek(
  db: Connection,
  nowMs: number,
  request: { readonly queues: readonly string[]; readonly names: readonly string[] },
): { dueInMs: number | null; aloneDue: boolean } {
  const names = new Set(request.names);
  let dueInMs: number | null = null;
  let aloneDue = false;
  for (const queue of openQueues(db, request.queues)) {
    for (const kind of liveKinds(db, queue, names)) {
      const inMs = dueIn(db, kind, lines.ordinary, nowMs);
      if (inMs !== null) dueInMs = Math.min(dueInMs ?? inMs, inMs);
      aloneDue ||= dueIn(db, kind, lines.alone, nowMs) === 0;
    }
  }
  return { dueInMs, aloneDue };
}
