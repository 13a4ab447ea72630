import { isMillraceError } from '../../internal/errors.js';
import type { ExpiredLease, TakeBack, TakeBackOutcome } from '../settlement.js';
import { plainToken } from './claim.js';
import { isAloneLine, stopOf } from './codes.js';
import type { Context } from './context.js';
import type { Followed } from './followed.js';
import { type RecoverQueries, recoverQueries } from './queries/recover.js';
import { boolOf, intOf, type Row, textOf } from './statement.js';

export class Rescue {
  readonly #context: Context;
  readonly #followed: Followed;
  readonly #queries: RecoverQueries;

  constructor(context: Context, followed: Followed) {
    this.#context = context;
    this.#followed = followed;
    this.#queries = recoverQueries(context.schema);
  }

  async expired(request: {
    expiredForMs: number;
    limit: number;
    after?: { leaseUntilMs: number; id: string };
  }): Promise<ExpiredLease[]> {
    const { connection, offsetMs } = this.#context;
    const { after } = request;
    const values = [
      Math.round(request.expiredForMs),
      offsetMs(),
      request.limit,
      after?.leaseUntilMs ?? null,
      after?.id ?? null,
    ];
    return (await connection.run(this.#queries.expired, values)).map(expiredLease);
  }

  /** In one transaction; when a row makes it fail, each by itself, so that it fails alone. */
  async takeBack(decisions: readonly TakeBack[]): Promise<TakeBackOutcome[]> {
    if (decisions.length === 0) return [];
    try {
      return await this.#followed.takeBack(decisions);
    } catch (error) {
      if (decisions.length === 1 || !isMillraceError(error) || error.retryable || error.code === 'closed')
        throw error;
    }
    const outcomes: TakeBackOutcome[] = [];
    for (const decision of decisions) {
      outcomes.push(
        await this.#followed.takeBack([decision]).then(
          ([outcome]) => outcome ?? 'renewed',
          (error: unknown) => {
            this.#context.logger.error('postgres: a lease could not be taken back', {
              id: decision.id,
              error,
            });
            return 'renewed' as const;
          },
        ),
      );
    }
    return outcomes;
  }
}

function expiredLease(row: Row): ExpiredLease {
  const [
    id,
    token,
    name,
    queue,
    worker,
    started,
    line,
    attempts,
    maxAttempts,
    deaths,
    lapses,
    errors,
    stop,
    until,
    expiredFor,
  ] = row;
  return {
    id: textOf(id),
    token: plainToken(textOf(token)),
    name: textOf(name),
    queue: textOf(queue),
    workerId: textOf(worker),
    started: boolOf(started),
    ranAlone: isAloneLine(intOf(line)),
    attempts: intOf(attempts),
    maxAttempts: intOf(maxAttempts),
    deaths: intOf(deaths),
    lapses: intOf(lapses),
    errors: errors ?? null,
    stopRequest: stopOf(intOf(stop)),
    leaseUntilMs: intOf(until),
    expiredForMs: intOf(expiredFor),
  };
}
