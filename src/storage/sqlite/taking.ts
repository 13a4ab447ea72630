import type { ClaimedJob, ClaimRequest, Take } from '../claimed-job.js';
import { mergedCandidates } from './candidates.js';
import { claimedJob, claimedLinedJob, inClaimOrder, rowOf } from './claimed.js';
import type { Claiming, Lender } from './claiming.js';
import { lines, scopeCodes } from './codes.js';
import type { Value } from './connection.js';
import type { Kind } from './kinds.js';
import { liveKinds, openQueues, ranks } from './line.js';
import * as sql from './queries/claim.js';
import { freeKeyOfJob } from './queries/unique-keys.js';
import type { Chosen } from './streams.js';
import { tokenToBytes } from './tokens.js';

/** One take of a claim: queue after queue, in each the kinds that wait, by rank, due time and id. */
export class Taking implements Lender {
  readonly #claiming: Claiming;
  readonly #request: ClaimRequest;
  readonly #take: Take;
  readonly #token: Buffer;
  readonly #line: number;
  readonly #taken: ClaimedJob[] = [];
  readonly #limit: number;

  constructor(claiming: Claiming, request: ClaimRequest, take: Take) {
    this.#claiming = claiming;
    this.#request = request;
    this.#take = take;
    this.#token = tokenToBytes(request.token);
    this.#line = request.alone ? lines.alone : lines.ordinary;
    this.#limit = request.alone ? Math.min(1, take.limit) : take.limit;
  }

  take(): ClaimedJob[] {
    const { db, labels } = this.#claiming;
    const abilities = { names: new Set(this.#take.names), labels };
    for (const queue of openQueues(db, this.#take.queues)) {
      if (this.left <= 0) break;
      const kinds = liveKinds(db, queue, abilities);
      if (!this.#claiming.isMetered(queue, kinds)) this.lendPlain(kinds);
      else if (this.#claiming.serve(queue, kinds, this)) break;
    }
    return this.#taken;
  }

  get left(): number {
    return this.#limit - this.#taken.length;
  }

  get places(): number {
    return Math.max(this.#take.start - this.#taken.length, 0);
  }

  lendPlain(kinds: readonly Kind[]): void {
    const [first] = kinds;
    if (first !== undefined && kinds.length === 1) this.#takeKind(first);
    else if (kinds.length > 1) this.#takeKinds(kinds);
  }

  /** One kind alone needs no merging: choosing and taking are one statement a rank. */
  #takeKind(kind: Kind): void {
    const { db, nowMs } = this.#claiming;
    for (const rank of ranks(db, kind, this.#line)) {
      if (this.left <= 0) return;
      while (this.left > 0) {
        const { count, started } = this.#nextShare(this.left);
        const where = [kind.queueId, kind.id, this.#line, rank, nowMs, count];
        const tuples = db.tuples<sql.ClaimTuple>(sql.dueRange, ...where);
        if (tuples.length > 0) db.run(sql.lendRange, ...this.#lend(started), ...where);
        this.#keep(tuples, started === 1);
        if (tuples.length < count) break;
      }
    }
  }

  #takeKinds(kinds: readonly Kind[]): void {
    const { db, nowMs } = this.#claiming;
    const chosen = mergedCandidates(db, kinds, { line: this.#line, nowMs, limit: this.left });
    for (let at = 0; at < chosen.length; ) {
      const { count, started } = this.#nextShare(chosen.length - at);
      const rows = rowList(chosen.slice(at, at + count));
      const tuples = db.tuples<sql.ClaimTuple>(sql.claimRows, ...this.#lend(started), rows);
      this.#keep(tuples.sort(inClaimOrder), started === 1);
      at += count;
    }
  }

  /** What may not wait is always started; of the rest the first. */
  lend(chosen: readonly Chosen[], isBudgeted: boolean): void {
    const { db } = this.#claiming;
    const places = this.places;
    const metered = chosen.filter(({ isMetered }) => isMetered);
    const plain = chosen.filter(({ isMetered }) => !isMetered);
    const started = chosen.slice(0, places).filter(({ isMetered }) => !isMetered).length;
    const byRow = new Map<number, sql.LinedTuple>();
    const lend = (rows: readonly Chosen[], isStarted: number): void => {
      if (rows.length === 0) return;
      const values = [...this.#lend(isStarted), isBudgeted ? 1 : 0, rowList(rows)];
      for (const tuple of db.tuples<sql.LinedTuple>(sql.claimLinedRows, ...values))
        byRow.set(rowOf(tuple), tuple);
    };
    lend(metered, 1);
    lend(plain.slice(0, started), 1);
    lend(plain.slice(started), 0);
    for (const { row } of chosen) {
      const tuple = byRow.get(row);
      if (tuple !== undefined) this.#keepLined(tuple);
    }
  }

  /** The first `start` jobs are marked started, the rest not: two statements where a claim crosses that line. */
  #nextShare(most: number): { count: number; started: number } {
    const places = this.places;
    return places > 0 ? { count: Math.min(most, places), started: 1 } : { count: most, started: 0 };
  }

  #lend(started: number): Value[] {
    const { nowMs } = this.#claiming;
    return [this.#token, nowMs + this.#request.leaseMs, nowMs, this.#request.workerId, started];
  }

  #keep(tuples: readonly sql.ClaimTuple[], started: boolean): void {
    const { db } = this.#claiming;
    const { token } = this.#request;
    for (const tuple of tuples) {
      this.#freeKey(tuple[0], tuple[10]);
      db.claimedQueues.note(token, db.kinds.byId(tuple[1]).queueId, false);
      this.#taken.push(claimedJob(db, { token, started }, tuple));
    }
  }

  #keepLined(tuple: sql.LinedTuple): void {
    const { db } = this.#claiming;
    const { token } = this.#request;
    this.#freeKey(tuple[0], tuple[10]);
    db.claimedQueues.note(token, db.kinds.byId(tuple[1]).queueId, true);
    this.#taken.push(claimedLinedJob(db, token, tuple));
  }

  #freeKey(id: string, scope: number): void {
    if (scope !== scopeCodes.waiting) return;
    const bytes = Buffer.from(id, 'hex');
    this.#claiming.db.run(freeKeyOfJob, bytes, bytes);
  }
}

const rowList = (rows: readonly { readonly row: number }[]): string =>
  JSON.stringify(rows.map(({ row }) => row));
