import type { ClaimedJob, ClaimRequest } from '../claimed-job.js';
import { claimedLinedJob, inTakeOrder } from './claimed.js';
import { Claiming } from './claiming.js';
import { lines } from './codes.js';
import type { Connection } from './connection.js';
import { type Abilities, dueIn, liveKinds, openQueues } from './line.js';
import { heldUnderToken, type LinedTuple } from './queries/claim.js';
import { Taking } from './taking.js';
import { tokenToBytes } from './tokens.js';
import type { Transaction } from './transaction.js';

export function claim(tx: Transaction, request: ClaimRequest): ClaimedJob[] {
  const { db } = tx;
  const held = db.tuples<LinedTuple>(heldUnderToken, tokenToBytes(request.token));
  if (held.length > 0) {
    const sorted = held.sort(inTakeOrder(db, request.takes));
    return sorted.map((tuple) => claimedLinedJob(db, request.token, tuple));
  }
  const claiming = new Claiming(db, request, tx.nowMs);
  const claimed = request.takes.flatMap((take) => new Taking(claiming, request, take).take());
  claiming.finish();
  return claimed;
}

/** Whether a claim would return something. Read without the write lock, which so many idle workers need not take. */
export function canClaim(db: Connection, request: ClaimRequest, nowMs: number): boolean {
  if (db.tuples(heldUnderToken, tokenToBytes(request.token)).length > 0) return true;
  const claiming = new Claiming(db, request, nowMs);
  return request.takes.some((take) => {
    const abilities = { names: new Set(take.names), labels: claiming.labels };
    return openQueues(db, take.queues).some((queue) => hasRunnable(claiming, queue, abilities));
  });
}

/** Whether one of these jobs could be claimed now. */
export function hasRunnable(claiming: Claiming, queue: number, abilities: Abilities): boolean {
  const { db, nowMs, isAlone } = claiming;
  const kinds = liveKinds(db, queue, abilities);
  if (claiming.isMetered(queue, kinds)) return claiming.hasRunnable(queue, kinds);
  const line = isAlone ? lines.alone : lines.ordinary;
  return kinds.some((kind) => dueIn(db, kind, line, nowMs) === 0);
}
