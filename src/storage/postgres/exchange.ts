import { isMillraceError } from '../../internal/errors.js';
import type { ClaimedJob } from '../claimed-job.js';
import type { Settlement, SettleOutcome } from '../settlement.js';
import type { SingleTake } from '../single-take.js';
import type { Claims } from './claim.js';
import type { Context } from './context.js';
import { endedOf, hasRepeats, isPlainCompletion, type Settler } from './settle.js';
import type { Row } from './statement.js';

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

  /** One statement where every settlement is a plain completion, else one after the other. */
  async exchange(
    settlements: readonly Settlement[],
    request: SingleTake,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    if (canFuse(settlements, request)) {
      const row = await this.#fused(settlements, request);
      if (row !== null) return this.#answer(settlements, request, row);
    }
    const settled = await this.#settler.settle(settlements);
    return { settled, claimed: await this.#claims.claim(request) };
  }

  /** Null when a row made it fail: each then goes its own way. */
  async #fused(settlements: readonly Completed[], request: SingleTake): Promise<Row | null> {
    const { connection } = this.#context;
    const values = [...this.#claims.values(request), ...this.#settler.completionValues(settlements)];
    try {
      return (await connection.run(this.#claims.queries.exchange, values))[0] ?? null;
    } catch (error) {
      if (!isMillraceError(error) || error.retryable || error.code === 'closed') throw error;
      return null;
    }
  }

  async #answer(
    settlements: readonly Completed[],
    request: SingleTake,
    row: Row,
  ): Promise<{ settled: SettleOutcome[]; claimed: ClaimedJob[] }> {
    const outcomes = new Map<Settlement, SettleOutcome>();
    const rest = this.#settler.note(settlements, endedOf(settlements, row[4], row[5]), outcomes);
    if (rest.length > 0) await this.#settler.settleFollowed(rest, outcomes);
    const settled = settlements.map((settlement) => outcomes.get(settlement) ?? 'already-final');
    const isClaimed = rest.length === 0 && row[3] !== 't';
    const claimed = isClaimed ? await this.#claims.answer(request, row) : await this.#claims.claim(request);
    return { settled, claimed };
  }
}

function canFuse(
  settlements: readonly Settlement[],
  { token }: SingleTake,
): settlements is readonly Completed[] {
  let chars = 0;
  for (const settlement of settlements) {
    // One statement has one view: a repeat of the claim would answer with what it just settles.
    if (!isPlainCompletion(settlement) || settlement.token === token) return false;
    chars += settlement.result?.length ?? 0;
  }
  return settlements.length > 0 && chars <= fusedChars && !hasRepeats(settlements);
}
