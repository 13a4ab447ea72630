/*
 * Work that is written for a connection that answers at once, over one that must be awaited (Kysely, Prisma). It is run from its
 * beginning with the answers so far; the first statement that has none yet ends the run, is sent, and its answer kept
 * for the next run. So the work must do the same each time it gets the same answers, and change nothing else. An error
 * is an answer too: it is thrown where the statement stands.
 *
 * The cost grows with the square of the number of statements: callers hand over work in small parts.
 */
import { type AsyncHandle, columnsOf, type HandleAnswer, type HandleValue } from '../transaction/handle.js';
import { driverErrorIn } from '../transaction/tx-errors.js';
import type { Driver } from './connection.js';
import { driverOver, type StatementRunner } from './handle-driver.js';

class Unanswered extends Error {
  readonly sql: string;
  readonly values: readonly HandleValue[];

  constructor(sql: string, values: readonly HandleValue[]) {
    super('a statement waits for its answer');
    this.sql = sql;
    this.values = values;
  }
}

type Kept = { readonly answer: HandleAnswer } | { readonly error: unknown };

export async function replay<T>(handle: AsyncHandle, work: (driver: Driver) => T): Promise<T> {
  const kept: Kept[] = [];
  for (;;) {
    try {
      return work(driverOver(playerOf(kept)));
    } catch (thrown) {
      if (!(thrown instanceof Unanswered)) throw thrown;
      kept.push(await ask(handle, thrown));
    }
  }
}

async function ask(handle: AsyncHandle, { sql, values }: Unanswered): Promise<Kept> {
  try {
    return { answer: await handle.run(sql, values) };
  } catch (error) {
    return { error: driverErrorIn(error) };
  }
}

function playerOf(kept: readonly Kept[]): StatementRunner {
  let next = 0;
  const answerTo = (sql: string, values: readonly HandleValue[]): HandleAnswer => {
    const known = kept[next];
    if (known === undefined) throw new Unanswered(sql, values);
    next += 1;
    if ('error' in known) throw known.error;
    return known.answer;
  };
  return {
    rows: (sql, values) => answerTo(sql, values).rows.map(columnsOf),
    objects: (sql, values) => answerTo(sql, values).rows as readonly object[],
    changes: (sql, values) => answerTo(sql, values).changed,
  };
}
