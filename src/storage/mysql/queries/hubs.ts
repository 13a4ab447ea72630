import { hubKeptMs } from '../../hub-record.js';
import { hexText, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Index: primary. */
export function writeHub(t: Tables, hub: { readonly id: string; readonly report: string }, now: Sql): Sql {
  return sql`insert into ${t.hubs} (id, started_at, heartbeat_at, report)
    values (${hexText(hub.id)}, ${now}, ${now}, ${hexText(hub.report)})
    on duplicate key update heartbeat_at = values(heartbeat_at), report = values(report)`;
}

/** The whole table: few rows. */
export function readHubs(t: Tables, now: Sql): Sql {
  return sql`select report, started_at, heartbeat_at, ${now} from ${t.hubs}
    where heartbeat_at > ${now} - ${hubKeptMs} order by id`;
}

/** Index: primary. */
export function deleteHub(t: Tables, id: string): Sql {
  return sql`delete from ${t.hubs} where id = ${hexText(id)}`;
}

/** The whole table: few rows. */
export function deleteSilentHubs(t: Tables, limit: number, now: Sql): Sql {
  return sql`delete from ${t.hubs} where heartbeat_at <= ${now} - ${hubKeptMs} order by id limit ${limit}`;
}
