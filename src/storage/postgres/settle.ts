/*
 * Two paths. Plain settlements (nobody waits for the job, no stop was requested, no key is to be freed) are one
 * statement per batch, guarded by id and token, that refuses everything else. What it refused, and kinds that are
 * rare, go the followed path: one transaction that locks, reads, decides and applies for the whole batch, and when that
 * fails, for one after the other.
 */

import { isMillraceError } from '../../internal/errors.js';
import type { Settlement, SettleOutcome } from '../settlement.js';
import { plainArray, textArray, uuidArray } from './arrays.js';
import { plainToken } from './claim.js';
import { anyQueue, type Context } from './context.js';
import type { Followed } from './followed.js';
import { inIdOrder } from './id-order.js';
import type { ClaimQueries } from './queries/claim.js';
import { type SettleQueries, settleQueries } from './queries/settle.js';
import { boolOf, intOf, textOf } from './statement.js';

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

  /** @param onRoom called when an ending makes room under a limit or a budget, for whoever waits for it */
  async settle(
    settlements: readonly Settlement[],
    onRoom = (): void => this.#context.wake([anyQueue]),
  ): Promise<SettleOutcome[]> {
    const outcomes = new Map<Settlement, SettleOutcome>();
    if (hasRepeats(settlements)) return this.#oneByOne(settlements);
    const rest: Settlement[] = [];
    const completed: Completed[] = [];
    const returned: Returned[] = [];
    for (const settlement of settlements) {
      if (isPlainCompletion(settlement)) completed.push(settlement);
      else if (isReturn(settlement)) returned.push(settlement);
      else rest.push(settlement);
    }
    for (const part of inParts(completed))
      rest.push(...this.note(part, await this.#complete(part, onRoom), outcomes));
    for (const part of inParts(inIdOrder(returned)))
      rest.push(...this.note(part, await this.#return(part, onRoom), outcomes));
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
      for (const [index, settlement] of part.entries())
        outcomes.set(settlement, answers[index] ?? 'already-final');
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
  completionValues(settlements: readonly Completed[]): unknown[] {
    const part = inIdOrder(settlements);
    return [
      uuidArray(part.map((s) => s.id)),
      uuidArray(part.map((s) => s.token)),
      textArray(part.map((s) => s.result)),
    ];
  }

  /** What is left; `ended` is null when all were. */
  note(
    part: readonly Settlement[],
    ended: ReadonlySet<string> | null,
    outcomes: Map<Settlement, SettleOutcome>,
  ): Settlement[] {
    if (ended === null) {
      for (const settlement of part) outcomes.set(settlement, 'done');
      return [];
    }
    return part.filter((settlement) => {
      if (ended.has(leaseKey(settlement))) outcomes.set(settlement, 'done');
      return !outcomes.has(settlement);
    });
  }

  async #complete(part: readonly Completed[], onRoom: () => void): Promise<ReadonlySet<string> | null> {
    try {
      const values = [...this.completionValues(part), this.#context.offsetMs()];
      const [row] = await this.#context.connection.run(this.#claims.settle, values);
      if (boolOf(row?.[2])) onRoom();
      return endedOf(part, row?.[0], row?.[1]);
    } catch (error) {
      return leaveToFollowedPath(error);
    }
  }

  async #return(part: readonly Returned[], onRoom: () => void): Promise<ReadonlySet<string> | null> {
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
      if (part.some((s) => s.delayMs <= 0))
        this.#context.wake(new Set(rows.map(([, queue]) => textOf(queue))));
      if (rows.some(([, , , hasRoom]) => boolOf(hasRoom))) onRoom();
      return rows.length === part.length
        ? null
        : new Set(rows.map(([id, , token]) => `${id} ${plainToken(textOf(token))}`));
    } catch (error) {
      return leaveToFollowedPath(error);
    }
  }
}

/** One job may stand in a batch under an old lease and under its present one. */
const leaseKey = ({ id, token }: Settlement): string => `${id.toLowerCase()} ${token}`;

/** Null when all were ended. */
export function endedOf(
  part: readonly Settlement[],
  count: string | null | undefined,
  ids: string | null | undefined,
): ReadonlySet<string> | null {
  if (intOf(count) === part.length) return null;
  return new Set((ids ?? '').split(','));
}

/** Whether a job stands twice: then each must see what the one before it did. */
export function hasRepeats(settlements: readonly Settlement[]): boolean {
  return new Set(settlements.map(({ id }) => id)).size < settlements.length;
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
function leaveToFollowedPath(error: unknown): ReadonlySet<string> {
  if (!isMillraceError(error) || error.retryable || error.code === 'closed') throw error;
  return new Set();
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
