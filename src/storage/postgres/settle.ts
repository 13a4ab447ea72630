/*
 * Two paths. Plain settlements (nobody waits for the job, no stop was requested, no key is to be freed) are one
 * statement per batch, guarded by id and token, that refuses everything else. What it refused, and kinds that are
 * rare, go the followed path: one transaction that locks, reads, decides and applies for the whole batch, and when that
 * fails, for one after the other.
 */
import type { SettleOutcome, Settlement } from '../settlement.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import type { Context } from './context.js';
import { Followed } from './followed.js';
import type { ClaimQueries } from './queries/claim.js';
import { settleQueries, type SettleQueries } from './queries/settle.js';
import { isMillraceError } from '../../internal/errors.js';
import { intOf, textOf } from './statement.js';

/** One statement takes at most so much text. */
const statementChars = 8_000_000;

type Completed = Extract<Settlement, { kind: 'completed' }>;
type Returned = Extract<Settlement, { kind: 'retry' | 'snoozed' | 'put-back' }>;

export class Settler {
  readonly #context: Context;
  readonly #claims: ClaimQueries;
  readonly #queries: SettleQueries;
  readonly #followed: Followed;

  constructor(context: Context, claims: ClaimQueries, followed: Followed) {
    this.#context = context;
    this.#claims = claims;
    this.#queries = settleQueries(context.schema);
    this.#followed = followed;
  }

  async settle(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    const outcomes = new Map<Settlement, SettleOutcome>();
    if (new Set(settlements.map((s) => s.id)).size < settlements.length) return this.#oneByOne(settlements);
    const rest: Settlement[] = [];
    const completed: Completed[] = [];
    const returned: Returned[] = [];
    for (const settlement of settlements) {
      if (isPlainCompletion(settlement)) completed.push(settlement);
      else if (isReturn(settlement)) returned.push(settlement);
      else rest.push(settlement);
    }
    for (const part of inParts(completed)) this.#note(outcomes, rest, part, await this.#complete(part));
    for (const part of inParts(returned)) this.#note(outcomes, rest, part, await this.#return(part));
    for (const part of inParts(rest)) await this.settleFollowed(part, outcomes);
    return settlements.map((settlement) => outcomes.get(settlement) ?? 'already-final');
  }

  /** A job that stands twice: the first settlement counts, and the second must see what it did. */
  async #oneByOne(settlements: readonly Settlement[]): Promise<SettleOutcome[]> {
    const outcomes = new Map<Settlement, SettleOutcome>();
    for (const settlement of settlements) await this.settleFollowed([settlement], outcomes);
    return settlements.map((settlement) => outcomes.get(settlement) ?? 'already-final');
  }

  /** What a plain statement did not end; also finds out what had been ended before. */
  async settleFollowed(part: readonly Settlement[], outcomes: Map<Settlement, SettleOutcome>): Promise<void> {
    try {
      const answers = await this.#followed.settle(part);
      for (const [index, settlement] of part.entries()) outcomes.set(settlement, answers[index] ?? 'already-final');
    } catch (error) {
      if (part.length === 1 || !isMillraceError(error) || error.retryable) throw error;
      // One bad row: each by itself, so that it fails alone.
      let failure: unknown;
      for (const settlement of part) {
        await this.settleFollowed([settlement], outcomes).catch((cause: unknown) => {
          failure ??= cause;
        });
      }
      if (failure !== undefined) throw failure;
    }
  }

  /** Parameters of the plain statement. */
  completionValues(part: readonly Completed[]): unknown[] {
    return [
      uuidArray(part.map((s) => s.id)),
      uuidArray(part.map((s) => s.token)),
      textArray(part.map((s) => s.result)),
    ];
  }

  #note(
    outcomes: Map<Settlement, SettleOutcome>,
    rest: Settlement[],
    part: readonly Settlement[],
    isWhole: boolean,
  ): void {
    if (isWhole) for (const settlement of part) outcomes.set(settlement, 'done');
    else rest.push(...part);
  }

  /** Whether all of them were ended. */
  async #complete(part: readonly Completed[]): Promise<boolean> {
    try {
      const values = [...this.completionValues(part), this.#context.offsetMs()];
      const [row] = await this.#context.connection.run(this.#claims.settle, values);
      return intOf(row?.[0]) === part.length;
    } catch (error) {
      return leaveToFollowedPath(error);
    }
  }

  async #return(part: readonly Returned[]): Promise<boolean> {
    try {
      const rows = await this.#context.connection.run(this.#queries.putBack, [
        uuidArray(part.map((s) => s.id)),
        uuidArray(part.map((s) => s.token)),
        plainArray(part.map(dueInMs)),
        plainArray(part.map((s) => (s.kind === 'retry' ? 1 : 0))),
        textArray(part.map((s) => (s.kind === 'retry' ? s.errors : null))),
        textArray(part.map((s) => (s.kind === 'put-back' ? s.reason : null))),
        this.#context.offsetMs(),
      ]);
      let count = 0;
      for (const [, n] of rows) count += intOf(n);
      if (part.some((s) => s.delayMs <= 0)) this.#context.wake(rows.map(([queue]) => textOf(queue)));
      return count === part.length;
    } catch (error) {
      return leaveToFollowedPath(error);
    }
  }
}

/** A put-back without delay keeps its place in the line. */
export function dueInMs(settlement: Returned): number | null {
  return settlement.kind === 'put-back' && settlement.delayMs <= 0 ? null : Math.round(settlement.delayMs);
}

export function isPlainCompletion(settlement: Settlement): settlement is Completed {
  return settlement.kind === 'completed' && settlement.outcome === undefined;
}

export function isReturn(settlement: Settlement): settlement is Returned {
  return settlement.kind === 'retry' || settlement.kind === 'snoozed' || settlement.kind === 'put-back';
}

/** What may be cured by waiting goes to the caller; for anything else the rows are tried one by one. */
function leaveToFollowedPath(error: unknown): false {
  if (!isMillraceError(error) || error.retryable || error.code === 'closed') throw error;
  return false;
}

function inParts<T extends Settlement>(settlements: readonly T[]): T[][] {
  const parts: T[][] = [];
  let chars = Infinity;
  for (const settlement of settlements) {
    const own = textLength(settlement);
    if (chars + own > statementChars) {
      parts.push([]);
      chars = 0;
    }
    chars += own;
    parts.at(-1)?.push(settlement);
  }
  return parts;
}

function textLength(settlement: Settlement): number {
  if (settlement.kind === 'completed') return settlement.result?.length ?? 0;
  return settlement.kind === 'retry' || settlement.kind === 'buried' ? settlement.errors.length : 0;
}
