import { isMillraceError } from '../../internal/errors.js';
import type { ClaimedJob, ClaimRequest } from '../claimed-job.js';
import type { Settlement, SettleOutcome } from '../settlement.js';
import type { Places, Road } from './bounded-claim.js';
import type { Claims } from './claim.js';
import { placeOf } from './claim-facts.js';
import { anyQueue, type Context } from './context.js';
import { endedOf, hasRepeats, isPlainCompletion, type Settler } from './settle.js';
import { boolOf, type Row } from './statement.js';

/** A batch with more text than this goes in parts, so not in one statement with a claim. */
const fusedChars = 8_000_000;

type Completed = Extract<Settlement, { kind: 'completed' }>;

export class Exchange {
  readonly #context: Context;
  readonly #claims: Claims;
  readonly #settler: Settler;

  constructor(context: Context, claims: Claims, settler: Settler) {
    this.#context = context;
    this.#claims = claims;
    this.#settler = settler;
  }

  /** One statement where every settlement is a plain completion and only ordinary jobs are to be had, else one after the other. */
  async exchange(
    settlements: readonly Settlement[],
    request: ClaimRequest,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    const freed = this.#claims.bounded.noteEndings(settlements);
    const road = await this.#claims.bounded.roadOf(request);
    if (road !== 'bounded' && canFuse(settlements, request)) {
      const row = await this.#fused(settlements, request, road);
      if (row !== null) return this.#answer(settlements, request, { row, road, freed });
    }
    let hasRoom = false;
    const settled = await this.#settler.settle(settlements, () => {
      hasRoom = true;
    });
    const claimed = await this.#claims.claim(request);
    if (hasRoom) this.#tellOfRoom(request, freed, claimed);
    return { settled, claimed };
  }

  /** Null when a row made it fail: each then goes its own way. */
  async #fused(settlements: readonly Completed[], request: ClaimRequest, road: Road): Promise<Row | null> {
    const { statement, values } = this.#claims.ordinary('exchange', request, road === 'plain');
    try {
      const all = [...values, ...this.#settler.completionValues(settlements)];
      return (await this.#context.connection.run(statement, all))[0] ?? null;
    } catch (error) {
      if (!isMillraceError(error) || error.retryable || error.code === 'closed') throw error;
      return null;
    }
  }

  async #answer(
    settlements: readonly Completed[],
    request: ClaimRequest,
    { row, road, freed }: { row: Row; road: Road; freed: Places },
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    const outcomes = new Map<Settlement, SettleOutcome>();
    const [count, ended, hasRoom] = row.slice(5);
    const rest = this.#settler.note(settlements, endedOf(settlements, count, ended), outcomes);
    if (rest.length > 0) await this.#settler.settleFollowed(rest, outcomes);
    const settled = settlements.map((settlement) => outcomes.get(settlement) ?? 'already-final');
    const isClaimed = rest.length === 0 && row[3] !== 't';
    const claimed = isClaimed
      ? await this.#claims.finish(road, request, row)
      : await this.#claims.claim(request);
    if (boolOf(hasRoom)) this.#tellOfRoom(request, freed, claimed);
    return { settled, claimed };
  }

  /** Others are woken for room that the claim did not take again itself. */
  #tellOfRoom(request: ClaimRequest, freed: Places, claimed: readonly ClaimedJob[]): void {
    const left = new Map(freed);
    for (const job of claimed) {
      const place = placeOf(job, request);
      if (place !== null) left.set(place, (left.get(place) ?? 0) - 1);
    }
    const isTaken = left.size > 0 && [...left.values()].every((count) => count <= 0);
    if (!isTaken) this.#context.wake([anyQueue]);
  }
}

function canFuse(
  settlements: readonly Settlement[],
  { token }: ClaimRequest,
): settlements is readonly Completed[] {
  let chars = 0;
  for (const settlement of settlements) {
    // One statement has one view: a repeat of the claim would answer with what it just settles.
    if (!isPlainCompletion(settlement) || settlement.token === token) return false;
    chars += settlement.result?.length ?? 0;
  }
  return settlements.length > 0 && chars <= fusedChars && !hasRepeats(settlements);
}
