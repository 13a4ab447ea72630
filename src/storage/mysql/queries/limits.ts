import { aloneLine, ordinaryLine } from '../codes.js';
import { join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** group, key, key gate, how many run, their cost, the smallest maximum among them. Index: by_key; as many rows as run under limits. */
export function runningByKey(t: Tables, limit: number): Sql {
  return sql`select g.group_name, g.key_name, s.key_gate, s.n, s.cost, s.least from (
      select key_gate, count(*) as n, sum(cost) as cost, min(max_running) as least from ${t.slots} force index (by_key)
      where key_gate > 0 group by key_gate limit ${limit}) s
    straight_join ${t.gates} g on g.id = s.key_gate`;
}

/** queue_id, line of lanes of lines in which something stands. Index: primary of lanes, by_name of ready, one dive each. */
export function linesWithWork(t: Tables, limit: number): Sql {
  return sql`select distinct l.queue_id, l.line from ${t.lanes} l where l.line > ${ordinaryLine}
    and (select 1 from ${t.ready} r force index (by_name) where r.queue_id = l.queue_id and r.line = l.line
      and r.name_id = l.name_id and r.rnk = l.rnk limit 1) = 1 limit ${limit}`;
}

/** The lines that jobs which must run alone were dispatched into, one row for each job. Index: by_name of ready, primary of jobs. */
export function homesOfAlone(t: Tables, limit: number): Sql {
  return sql`select j.line from ${t.lanes} l straight_join ${t.ready} r force index (by_name) on r.queue_id = l.queue_id
      and r.line = l.line and r.name_id = l.name_id and r.rnk = l.rnk
    straight_join ${t.jobs} j on j.id = r.id where l.line = ${aloneLine} and j.line is not null limit ${limit}`;
}

/** line, how many stand in it in this queue, counted up to `limit`. Index: primary of ready, one bounded range each. */
export function countInLines(
  t: Tables,
  lines: readonly { readonly queueId: number; readonly line: number }[],
  limit: number,
): Sql {
  const each = lines.map(
    ({ queueId, line }) => sql`(select ${line}, count(*) from (select 1 from ${t.ready} force index (primary)
      where queue_id = ${queueId} and line = ${line} limit ${limit}) counted)`,
  );
  return join(each, ' union all ');
}

export interface NewProfile {
  readonly nameId: number;
  readonly count: number;
  readonly totalUs: number;
  readonly maxRss: number | null;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

export function insertProfiles(t: Tables, rows: readonly NewProfile[], now: Sql): Sql {
  const values = rows.map(
    ({ nameId, count, totalUs, maxRss }) =>
      sql`(${nameId}, ${now} div ${minuteMs}, ${count}, ${totalUs}, ${maxRss})`,
  );
  return sql`insert into ${t.profiles} (name_id, minute, n, total_us, max_rss) values ${values}`;
}

/** name_id, count, total, peak. Index: by_name. */
export function readProfiles(
  t: Tables,
  nameIds: readonly number[],
  { now, windowMs }: { now: Sql; windowMs: number },
): Sql {
  return sql`select name_id, sum(n), sum(total_us), max(max_rss) from ${t.profiles} force index (by_name)
    where name_id in ${list(nameIds)} and minute >= (${now} - ${windowMs}) div ${minuteMs} group by name_id`;
}

/** Index: by_minute. */
export function deleteProfiles(t: Tables, limit: number, now: Sql): Sql {
  return sql`delete from ${t.profiles} where minute < (${now} - ${dayMs}) div ${minuteMs} order by minute limit ${limit}`;
}

/** Rows of minutes that are over, but not for long. Index: by_minute. */
export function lockRecentProfiles(t: Tables, { now, limit }: { now: Sql; limit: number }): Sql {
  return sql`select id, name_id, minute, n, total_us, max_rss from ${t.profiles} force index (by_minute)
    where minute between ${now} div ${minuteMs} - 30 and ${now} div ${minuteMs} - 1 order by minute limit ${limit}
    for update skip locked`;
}
