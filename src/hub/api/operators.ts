import type { FastifyRequest } from 'fastify';
import { isMillraceError } from '../../internal/errors.js';
import { describeFailure } from '../../internal/failure.js';
import { printable } from '../../internal/printable.js';
import { uuidv7 } from '../../internal/uuid.js';
import type { ApiDeps } from './api-deps.js';

/** Who asks, and from where. */
export interface Operator {
  readonly actor: string;
  readonly source: string;
}

/** The identity that the guard found; without one whoever is at that address. */
export function operatorOf(request: FastifyRequest): Operator {
  const { identity } = request;
  // Without a guard there is no such field.
  return { actor: identity?.actor ?? 'anonymous', source: identity?.address ?? request.ip };
}

export interface Deed {
  /** `job.retry` */
  readonly action: string;
  /** To what: an id, a name, a filter. */
  readonly target: string;
}

const tries = 3;
const longestTarget = 1_000;

/**
 * Does what an operator asks and writes it to the audit with what came of it, also where it failed. Work on workers has
 * its entry in the transaction that does it; here the entry is written behind the deed, so one that can't be written
 * goes to the log whole, and the deed stays done.
 */
export async function audited<T>(
  deps: ApiDeps,
  request: FastifyRequest,
  deed: Deed,
  { run, told }: { readonly run: () => Promise<T>; readonly told: (answer: T) => string },
): Promise<T> {
  try {
    const answer = await run();
    await note(deps, request, deed, told(answer));
    return answer;
  } catch (error) {
    await note(deps, request, deed, isMillraceError(error) ? `failed: ${error.code}` : 'failed');
    throw error;
  }
}

async function note(deps: ApiDeps, request: FastifyRequest, deed: Deed, result: string): Promise<void> {
  const target = printable(deed.target).slice(0, longestTarget);
  const entry = { id: uuidv7(), ...operatorOf(request), action: deed.action, target };
  for (let left = tries; left > 0; left -= 1) {
    try {
      const storage = await deps.client.internals.storage();
      await storage.noteAudit(entry, result);
      return;
    } catch (error) {
      if (left > 1 && isMillraceError(error) && error.retryable) continue;
      deps.logger.error('a deed of an operator could not be written to the audit', {
        ...entry,
        result,
        error: describeFailure(error),
      });
      return;
    }
  }
}
