import { isMillraceError } from '../../internal/errors.js';
import type { ControlOutcome } from '../../storage/settlement.js';
import type { WorkerChangeOutcome } from '../../storage/worker-record.js';
import type { HttpCall, HttpCalls } from './http-calls.js';

const outcomes: ReadonlySet<unknown> = new Set<ControlOutcome | WorkerChangeOutcome>([
  'already-final',
  'not-found',
  'not-allowed',
  'duplicate',
  'alive',
]);

/** What an operator asks of one job or worker: an outcome that a hub tells as a problem is a value again. */
export async function outcomeOf<Outcome extends ControlOutcome | WorkerChangeOutcome>(
  calls: HttpCalls,
  call: HttpCall,
): Promise<Outcome> {
  try {
    return (await calls.send(call)).body.outcome as Outcome;
  } catch (error) {
    const outcome = isMillraceError(error) ? error.details['outcome'] : undefined;
    if (outcomes.has(outcome)) return outcome as Outcome;
    throw error;
  }
}
