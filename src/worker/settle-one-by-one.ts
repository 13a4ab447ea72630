import { appendFailure, describeFailure } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';
import type { Settlement, SettleOutcome } from '../storage/settlement.js';

/** Waits for storage as long as that may help; null: no longer. Rejects when storage refuses for good. */
type Settle = (settlement: Settlement) => Promise<SettleOutcome[] | null>;

/**
 * After a batch was refused for good: each settlement by itself, and one that is refused again with its texts replaced
 * by a short note. The failure of a failure write still ends the job; if even that is refused, its lease lapses.
 * Storage that is only away replaces nothing. Null: given up before all had their answer.
 */
export async function settleOneByOne(
  settle: Settle,
  settlements: readonly Settlement[],
  logger: Logger,
): Promise<SettleOutcome[] | null> {
  const outcomes: SettleOutcome[] = [];
  for (const settlement of settlements) {
    let outcome = await trySettle(settle, settlement, logger);
    if (outcome === 'refused') outcome = await trySettle(settle, withoutTexts(settlement), logger);
    if (outcome === null) return null;
    outcomes.push(outcome === 'refused' ? 'lease-lost' : outcome);
  }
  return outcomes;
}

async function trySettle(
  settle: Settle,
  settlement: Settlement,
  logger: Logger,
): Promise<SettleOutcome | 'refused' | null> {
  try {
    const outcomes = await settle(settlement);
    return outcomes === null ? null : (outcomes[0] ?? 'refused');
  } catch (error) {
    logger.error('a result could not be stored', { job: settlement.id, kind: settlement.kind, error });
    return 'refused';
  }
}

function withoutTexts(settlement: Settlement): Settlement {
  const note = 'the result could not be stored as it was';
  switch (settlement.kind) {
    case 'completed':
      return { ...settlement, result: JSON.stringify({ $unstorable: note }) };
    case 'retry':
    case 'buried': {
      const entry = { at: 0, attempt: 0, kind: 'failed' as const, error: describeFailure(new Error(note)) };
      return { ...settlement, errors: appendFailure(null, entry) };
    }
    default:
      return settlement;
  }
}
