import type { Context } from './context.js';
import type { LineQueries } from './queries/lines.js';
import { intOf, type Row, type Statement } from './statement.js';

/**
 * Removes lines and gates that nobody needs, so that keys of tenants who are gone don't pile up. A dispatcher that remembers
 * a line has named it within the hour, and one that names it now waits for the lock and then writes it anew. Jobs are looked
 * for after the lock, in a statement of its own. What is still in use counts as named now, so that it can't stand for ever
 * before what is not.
 */
export async function removeUnusedLines(
  { connection, offsetMs }: Context,
  queries: LineQueries,
  { unnamedForMs, limit }: { unnamedForMs: number; limit: number },
): Promise<void> {
  const steps: [find: Statement, remove: Statement, touch: Statement][] = [
    [queries.unnamed, queries.removeUnused, queries.touch],
    [queries.unnamedGates, queries.removeUnusedGates, queries.touchGates],
  ];
  for (const [find, remove, touch] of steps) {
    await connection.transaction('purge of lines', async (tx) => {
      const ids = idsOf(await tx.run(find, [unnamedForMs, offsetMs(), limit]));
      if (ids === '{}') return;
      await tx.run(remove, [ids]);
      await tx.run(touch, [ids, offsetMs()]);
    });
  }
}

const idsOf = (rows: readonly Row[]): string => `{${rows.map(([id]) => intOf(id)).join(',')}}`;
