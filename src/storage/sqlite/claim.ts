import { hexToUuid } from '../../internal/uuid.js';
import type { ClaimedJob } from '../claimed-job.js';
import { unbounded } from '../job-limit.js';
import type { SingleTake } from '../single-take.js';
import { mergedCandidates } from './candidates.js';
import { lines, scopeCodes } from './codes.js';
import type { Connection, Value } from './connection.js';
import type { Kind } from './kinds.js';
import { liveKinds, openQueues, ranks } from './line.js';
import { payloadOf } from './payloads.js';
import * as sql from './queries/claim.js';
import { freeKeyOfJob } from './queries/unique-keys.js';
import { tokenToBytes } from './tokens.js';
import type { Transaction } from './transaction.js';

type Tuple = sql.ClaimTuple;

export function claim(tx: Transaction, request: SingleTake): ClaimedJob[] {
  const token = tokenToBytes(request.token);
  const held = tx.db.tuples<Tuple>(sql.heldUnderToken, token);
  if (held.length > 0)
    return held.sort(inOrderOf(tx.db, request.queues)).map((tuple) => claimedJob(tx.db, request, tuple));
  return new Claim(tx, request, token).take();
}

/** Whether a claim would return something. Read without the write lock, which so many idle workers need not take. */
export function canClaim(db: Connection, request: SingleTake, nowMs: number): boolean {
  if (db.tuples(sql.heldUnderToken, tokenToBytes(request.token)).length > 0) return true;
  const names = new Set(request.names);
  const line = request.alone ? lines.alone : lines.ordinary;
  return openQueues(db, request.queues).some((queue) =>
    liveKinds(db, queue, names).some((kind) => dueIn(db, kind, line, nowMs) === 0),
  );
}

/** Ms until the first job of a kind falls due; null where none waits. */
export function dueIn(db: Connection, kind: Kind, line: number, nowMs: number): number | null {
  let least: number | null = null;
  for (const rank of ranks(db, kind, line)) {
    const dueAt = db.value<number>(sql.firstDue, kind.queueId, kind.id, line, rank);
    if (dueAt === undefined) continue;
    if (dueAt <= nowMs) return 0;
    least = Math.min(least ?? Infinity, dueAt - nowMs);
  }
  return least;
}

/** One claim: queue after queue, in each the kinds that wait, by rank, due time and id. */
class Claim {
  readonly #tx: Transaction;
  readonly #request: SingleTake;
  readonly #token: Buffer;
  readonly #line: number;
  readonly #taken: ClaimedJob[] = [];
  #left: number;

  constructor(tx: Transaction, request: SingleTake, token: Buffer) {
    this.#tx = tx;
    this.#request = request;
    this.#token = token;
    this.#line = request.alone ? lines.alone : lines.ordinary;
    this.#left = request.alone ? Math.min(1, request.limit) : request.limit;
  }

  take(): ClaimedJob[] {
    const { db } = this.#tx;
    const names = new Set(this.#request.names);
    for (const queue of openQueues(db, this.#request.queues)) {
      if (this.#left <= 0) break;
      const kinds = liveKinds(db, queue, names);
      const [first] = kinds;
      if (first !== undefined && kinds.length === 1) this.#takeKind(first);
      else if (kinds.length > 1) this.#takeKinds(kinds);
    }
    return this.#taken;
  }

  /** One kind alone needs no merging: choosing and taking are one statement a rank. */
  #takeKind(kind: Kind): void {
    const { db, nowMs } = this.#tx;
    for (const rank of ranks(db, kind, this.#line)) {
      if (this.#left <= 0) return;
      while (this.#left > 0) {
        const { count, started } = this.#nextShare(this.#left);
        const where = [kind.queueId, kind.id, this.#line, rank, nowMs, count];
        const tuples = db.tuples<Tuple>(sql.claimRange, ...this.#lend(started), ...where);
        this.#keep(tuples.sort(inClaimOrder));
        if (tuples.length < count) break;
      }
    }
  }

  #takeKinds(kinds: readonly Kind[]): void {
    const { db, nowMs } = this.#tx;
    const chosen = mergedCandidates(db, kinds, { line: this.#line, nowMs, limit: this.#left });
    for (let at = 0; at < chosen.length; ) {
      const { count, started } = this.#nextShare(chosen.length - at);
      const rows = JSON.stringify(chosen.slice(at, at + count).map(({ row }) => row));
      this.#keep(db.tuples<Tuple>(sql.claimRows, ...this.#lend(started), rows).sort(inClaimOrder));
      at += count;
    }
  }

  /** The first `start` jobs are marked started, the rest not: two statements where a claim crosses that line. */
  #nextShare(most: number): { count: number; started: number } {
    const toStart = this.#request.start - this.#taken.length;
    return toStart > 0 ? { count: Math.min(most, toStart), started: 1 } : { count: most, started: 0 };
  }

  #lend(started: number): Value[] {
    const { nowMs } = this.#tx;
    return [this.#token, nowMs + this.#request.leaseMs, nowMs, this.#request.workerId, started];
  }

  #keep(tuples: readonly Tuple[]): void {
    const { db } = this.#tx;
    this.#left -= tuples.length;
    for (const tuple of tuples) {
      const [id, kind, , , , , , , , , scope] = tuple;
      if (scope === scopeCodes.waiting) {
        const bytes = Buffer.from(id, 'hex');
        db.run(freeKeyOfJob, bytes, bytes);
      }
      db.claimedQueues.note(this.#request.token, db.kinds.byId(kind).queueId);
      this.#taken.push(claimedJob(db, this.#request, tuple));
    }
  }
}

function claimedJob(db: Connection, request: SingleTake, tuple: Tuple): ClaimedJob {
  const [
    id,
    kindId,
    rank,
    dueAt,
    attempts,
    maxAttempts,
    deaths,
    lapses,
    started,
    createdAt,
    ,
    version,
    payload,
    errors,
  ] = tuple;
  const kind = db.kinds.byId(kindId);
  return {
    id: hexToUuid(id),
    token: request.token,
    name: kind.name,
    queue: kind.queue,
    payload: payloadOf(db, id, payload),
    version,
    priority: 0 - rank,
    attempts,
    maxAttempts,
    deaths,
    lapses,
    started: started === 1,
    errors,
    createdAtMs: createdAt,
    dueAtMs: dueAt,
    ...unbounded,
  };
}

function inClaimOrder(a: Tuple, b: Tuple): number {
  return a[2] - b[2] || a[3] - b[3] || (a[0] < b[0] ? -1 : 1);
}

function inOrderOf(db: Connection, queues: readonly string[]): (a: Tuple, b: Tuple) => number {
  const place = (tuple: Tuple): number => queues.indexOf(db.kinds.byId(tuple[1]).queue);
  return (a, b) => place(a) - place(b) || inClaimOrder(a, b);
}
