import type { LogLine, NewLogLine } from '../../job-log.js';
import { hexDigits, hexId, hexText, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Numbers of the columns kind and level; part of the schema. */
export const logKinds: readonly LogLine['kind'][] = ['log', 'progress'];
export const logLevels: readonly LogLine['level'][] = ['debug', 'info', 'warn', 'error'];

/** The present leases of these jobs, and those that ended them: id, token, claimed at, now. Index: by_id, primary of finals. */
export function presentLeases(t: Tables, ids: readonly Sql[], now: Sql): Sql {
  return sql`select id, token, claimed_at, ${now} from ${t.leases} force index (by_id) where id in ${list(ids)}
    union all select id, token, claimed_at, ${now} from ${t.finals} force index (primary)
    where id in ${list(ids)} and token is not null and claimed_at is not null`;
}

/** How much log each of these has: id, lines, bytes. Index: primary (prefix). */
export function logSizes(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select job_id, count(*), sum(length(line_text)) from ${t.log} where job_id in ${list(ids)} group by job_id`;
}

/** Which lines of these jobs are kept already: id, token, seq. Index: primary (prefix). */
export function keptLines(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select job_id, token, seq from ${t.log} where job_id in ${list(ids)}`;
}

export interface LogRow {
  readonly line: NewLogLine;
  readonly claimedAt: number;
  readonly at: number;
}

/** A line that is there already stays as it is. */
export function insertLines(t: Tables, rows: readonly LogRow[]): Sql {
  const values = rows.map(
    ({
      line,
      claimedAt,
      at,
    }) => sql`(${hexId(line.id)}, ${claimedAt}, ${hexDigits(line.token, 16)}, ${line.seq}, ${at},
      ${logKinds.indexOf(line.kind)}, ${logLevels.indexOf(line.level)}, ${hexText(line.text)})`,
  );
  return sql`insert ignore into ${t.log} (job_id, claimed_at, token, seq, at_ms, kind, level, line_text) values ${values}`;
}

export interface LogPosition {
  readonly claimedAt: number;
  readonly token: string;
  readonly seq: number;
}

/** Index: primary, as a chain of ranges in order. */
export function linesAfter(t: Tables, id: Sql, after: LogPosition | null, limit: number): Sql {
  const beyond =
    after === null
      ? sql``
      : sql`and (claimed_at > ${after.claimedAt} or (claimed_at = ${after.claimedAt} and token > ${hexDigits(after.token, 16)})
        or (claimed_at = ${after.claimedAt} and token = ${hexDigits(after.token, 16)} and seq > ${after.seq}))`;
  return sql`select claimed_at, token, seq, at_ms, kind, level, line_text from ${t.log} force index (primary)
    where job_id = ${id} ${beyond} order by claimed_at, token, seq limit ${limit}`;
}
