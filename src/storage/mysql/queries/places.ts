import { bytesToUuid } from '../../../internal/uuid.js';
import { flag, ordinaryLine } from '../codes.js';
import { type Marks, marksColumns, marksOf, marksWidth } from '../marks.js';
import { hexId, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';
import { deleteMembers } from './lines.js';
import { deleteSlots } from './slots.js';

/** A job with the row that says where it stands, locked by who reads it. */
export interface Placed {
  readonly id: string;
  readonly place: 'ready' | 'leases' | 'waiting' | 'finals';
  readonly queueId: number;
  readonly nameId: number;
  readonly line: number;
  /** The line it was dispatched into: where it returns to, unless it must run alone. */
  readonly homeLine: number;
  readonly rnk: number;
  readonly due: number;
  readonly flags: number;
  readonly retentionMs: number | null;
  readonly marks: Marks | null;
  readonly lease: PlacedLease | null;
  /** Only in finals. */
  readonly final: PlacedFinal | null;
  readonly unique: { readonly key: string; readonly scope: number } | null;
}

export interface PlacedLease {
  readonly token: string;
  readonly stop: number;
  readonly workerId: number;
  readonly claimedAt: number;
  readonly leaseUntil: number;
}

export interface PlacedFinal {
  readonly status: number;
  readonly token: string | null;
  readonly claimedAt: number | null;
  readonly workerId: number | null;
}

/**
 * The rows of these jobs, locked: leases, then ready, then waiting, then finals, each in ascending id. A job that moves on
 * between two of them is found by none and looked for again. Columns in the order of `placedOf`.
 */
export function lockPlaces(t: Tables, ids: readonly Sql[]): Sql[] {
  return [lockLeases(t, ids), lockReady(t, ids), lockWaiting(t, ids), lockFinals(t, ids)];
}

/** Index: by_id. */
export function lockLeases(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select id, queue_id, name_id, line, rnk, due, flags, token, stop, worker_id, claimed_at, lease_until
    from ${t.leases} force index (by_id) where id in ${list(ids)} order by id for update`;
}

/** Index: primary of jobs, marks and ready; the place in ready is given by body and marks. */
function lockReady(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select r.id, r.queue_id, r.name_id, r.line, r.rnk, r.due, r.flags from ${t.jobs} j
    left join ${t.marks} m on m.id = j.id
    straight_join ${t.ready} r force index (primary) on r.queue_id = j.queue_id and r.line = coalesce(m.line, j.line, 0)
      and r.rnk = j.rnk and r.due = coalesce(m.due, j.due) and r.id = j.id
    where j.id in ${list(ids)} order by j.id for update`;
}

/** Index: primary. */
export function lockWaiting(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select id, queue_id, name_id, 0 as line, rnk, due, flags from ${t.waiting} force index (primary)
    where id in ${list(ids)} order by id for update`;
}

/** Index: primary. The rank stands in the body. */
export function lockFinals(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select id, queue_id, name_id, 0 as line, 0 as rnk, due, flags, status, token, claimed_at, worker_id
    from ${t.finals} force index (primary) where id in ${list(ids)} order by id for update`;
}

/** What stands in body and marks. Index: primary of both. */
export function readBodies(t: Tables, ids: readonly Sql[]): Sql {
  return sql`select ${marksColumns}, j.id, j.rnk, j.retention, j.unique_scope, j.unique_key, j.line from ${t.jobs} j
    left join ${t.marks} m on m.id = j.id where j.id in ${list(ids)}`;
}

export interface Body {
  readonly id: string;
  readonly rnk: number;
  readonly line: number;
  readonly retentionMs: number | null;
  readonly marks: Marks | null;
  readonly unique: { readonly key: string; readonly scope: number } | null;
}

export function bodyOf(row: readonly unknown[]): Body {
  const [id, rnk, retentionMs, scope, key, line] = row.slice(marksWidth) as [
    Buffer,
    number,
    number | null,
    number | null,
    Buffer,
    number | null,
  ];
  return {
    id: bytesToUuid(id),
    rnk,
    line: line ?? ordinaryLine,
    retentionMs,
    marks: marksOf(row),
    unique: scope === null ? null : { key: key.toString(), scope },
  };
}

/** A row of one of the four statements of `lockPlaces`, with what stands in its body. */
export function placedOf(place: Placed['place'], row: readonly unknown[], body: Body): Placed {
  const [, queueId, nameId, line, rnk, due, flags] = row as [
    Buffer,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    id: body.id,
    place,
    queueId,
    nameId,
    line: place === 'finals' ? (body.marks?.line ?? 0) : line,
    rnk: place === 'finals' ? body.rnk : rnk,
    due,
    flags,
    retentionMs: body.retentionMs,
    homeLine: body.line,
    marks: body.marks,
    unique: body.unique,
    lease: place === 'leases' ? leaseOf(row) : null,
    final: place === 'finals' ? finalOf(row) : null,
  };
}

function leaseOf(row: readonly unknown[]): PlacedLease {
  return {
    token: (row[7] as Buffer).toString('hex'),
    stop: row[8] as number,
    workerId: row[9] as number,
    claimedAt: row[10] as number,
    leaseUntil: row[11] as number,
  };
}

function finalOf(row: readonly unknown[]): PlacedFinal {
  return {
    status: row[7] as number,
    token: (row[8] as Buffer | null)?.toString('hex') ?? null,
    claimedAt: row[9] as number | null,
    workerId: row[10] as number | null,
  };
}

/** Takes the row of a job out of the place it stands in. The row is locked, so it is there. */
export function leavePlaces(t: Tables, jobs: readonly Placed[]): Sql[] {
  const statements: Sql[] = [];
  const slotted = jobs.filter(({ flags }) => (flags & flag.slotted) !== 0);
  if (slotted.length > 0)
    statements.push(
      deleteSlots(
        t,
        slotted.map(({ id }) => hexId(id)),
      ),
    );
  for (const place of ['leases', 'waiting', 'finals'] as const) {
    const ids = jobs.filter((job) => job.place === place).map(({ id }) => hexId(id));
    // Index: by_id of leases, primary of the others.
    if (ids.length > 0) statements.push(sql`delete from ${t[place]} where id in ${list(ids)}`);
  }
  for (const job of jobs) {
    if (job.place === 'ready') statements.push(sql`delete from ${t.ready} where ${readyKey(job)}`);
  }
  return statements;
}

/** Index: primary of ready. */
export function readyKey({ queueId, line, rnk, due, id }: Placed): Sql {
  return sql`queue_id = ${queueId} and line = ${line} and rnk = ${rnk} and due = ${due} and id = ${hexId(id)}`;
}

export function insertReady(
  t: Tables,
  rows: readonly {
    readonly id: string;
    readonly queueId: number;
    readonly nameId: number;
    readonly line: number;
    readonly rnk: number;
    readonly due: number;
    readonly flags: number;
  }[],
): Sql {
  const values = rows.map(
    ({ id, queueId, nameId, line, rnk, due, flags }) =>
      sql`(${queueId}, ${line}, ${rnk}, ${due}, ${hexId(id)}, ${nameId}, ${flags})`,
  );
  return sql`insert into ${t.ready} (queue_id, line, rnk, due, id, name_id, flags) values ${values}`;
}

/** Removes all that stands of these jobs, whatever their status was; the row of their status goes by `leavePlaces`. */
export function forgetJobs(t: Tables, ids: readonly string[], keepRunningPeriods: boolean): Sql[] {
  const these = list(ids.map(hexId));
  // Index: primary of jobs, marks, log (prefix) and edges (prefix); by_child of edges; by_job of keys and tags.
  return [
    deleteMembers(t, ids.map(hexId)),
    sql`delete from ${t.jobs} where id in ${these}`,
    sql`delete from ${t.marks} where id in ${these}`,
    sql`delete from ${t.log} where job_id in ${these}`,
    sql`delete from ${t.tags} where job_id in ${these}`,
    sql`delete from ${t.edges} where parent in ${these}`,
    sql`delete from ${t.edges} where child in ${these}`,
    keepRunningPeriods
      ? sql`delete from ${t.keys} where job_id in ${these} and (until_ms is null or until_ms <= @now)`
      : sql`delete from ${t.keys} where job_id in ${these}`,
  ];
}
