import { isMillraceError } from '../internal/errors.js';
import { appendFailure, describeFailure } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';
import type { Settlement, SettleOutcome } from '../storage/settlement.js';
import type { Storage } from '../storage/storage.js';

/**
 * After a batch was refused for good: each settlement by itself, and one that is refused again with its texts replaced
 * by a short note. The failure of a failure write still ends the job; if even that is refused, its lease lapses.
 */
export async function settleOneByOne(
  storage: Storage,
  settlements: readonly Settlement[],
  logger: Logger,
): Promise<SettleOutcome[]> {
  const outcomes: SettleOutcome[] = [];
  for (const settlement of settlements) {
    outcomes.push(
      (await trySettle(storage, settlement, logger)) ??
        (await trySettle(storage, withoutTexts(settlement), logger)) ??
        'lease-lost',
    );
  }
  return outcomes;
}

async function trySettle(
  storage: Storage,
  settlement: Settlement,
  logger: Logger,
): Promise<SettleOutcome | null> {
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      const [outcome] = await storage.settle([settlement]);
      return outcome ?? null;
    } catch (error) {
      logger.error('a result could not be stored', { job: settlement.id, kind: settlement.kind, error });
      if (!isMillraceError(error) || !error.retryable) return null;
    }
  }
  return null;
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
