import { list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Together with their leases. Index: primary. */
export function deleteSlots(t: Tables, ids: readonly Sql[]): Sql {
  return sql`delete from ${t.slots} where id in ${list(ids)}`;
}
