import type { JobFailure } from '../../client/job-failure.js';
import type { Millrace } from '../../client/millrace.js';
import type { JobStatus } from '../../core/job-status.js';
import { isMillraceError, MillraceError } from '../../internal/errors.js';

interface Ending {
  readonly id: string;
  readonly status: JobStatus;
  readonly result?: unknown;
  readonly failures: readonly JobFailure[];
  readonly reason: string | null;
}

interface Answer {
  readonly hasEnded: boolean;
  readonly ending: Ending;
}

/** More would only wait for each other; who is turned away asks again. */
const mostWaiting = 2_000;

/** Answers how jobs ended; those who wait share the client's one loop of reads. */
export class ResultDesk {
  readonly #client: Millrace;
  #waiting = 0;

  constructor(client: Millrace) {
    this.#client = client;
  }

  /** @throws MillraceError `job-not-found`, `hub-busy`, and those of the database */
  async ending(id: string, how: { readonly waitMs: number; readonly signal: AbortSignal }): Promise<Answer> {
    if (this.#waiting >= mostWaiting) {
      throw new MillraceError('hub-busy', `${mostWaiting} requests wait for results on this hub already`);
    }
    this.#waiting += 1;
    try {
      const handle = this.#client.handle(id);
      const result = await handle.result({ timeout: how.waitMs, signal: how.signal });
      return ended({ id: handle.id, status: 'completed', result, failures: [], reason: null });
    } catch (error) {
      return answerOf(error);
    } finally {
      this.#waiting -= 1;
    }
  }
}

const ended = (ending: Ending): Answer => ({ hasEnded: true, ending });

/** Waiting tells every ending but a result by an error. */
function answerOf(error: unknown): Answer {
  if (!isMillraceError(error)) throw error;
  const { id, failures, reason, status, bytes, head } = error.details as {
    id: string;
    failures: readonly JobFailure[];
    reason: string | null;
    status: JobStatus | null;
    bytes: number;
    head: string;
  };
  switch (error.code) {
    case 'job-failed':
      return ended({ id, status: 'buried', failures, reason });
    case 'job-cancelled':
      return ended({ id, status: 'cancelled', failures: [], reason });
    case 'result-too-large': {
      const result = { $truncated: true, bytes, head };
      return ended({ id, status: 'completed', result, failures: [], reason: null });
    }
    case 'result-timeout':
      if (status === null) throw error;
      return { hasEnded: false, ending: { id, status, failures: [], reason: null } };
    default:
      throw error;
  }
}
