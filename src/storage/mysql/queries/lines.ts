import { gateKind } from '../codes.js';
import type { Lane } from '../lanes.js';
import { hexBytes, hexText, join, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

export interface NewGate {
  readonly k: Buffer;
  readonly kind: number;
  readonly group: string | null;
  readonly key: string | null;
}

export interface NewLine {
  readonly k: Buffer;
  readonly keyGate: number | null;
  readonly groupGate: number | null;
  readonly max: number | null;
  readonly cost: number;
  /** JSON array, or null. */
  readonly requires: string | null;
}

/** Rows that are there are locked as shared, so that none of them is removed before the commit. */
export function insertGates(t: Tables, gates: readonly NewGate[]): Sql {
  const rows = gates.map(
    ({ k, kind, group, key }) => sql`(${hexBytes(k)}, ${kind}, ${hexText(group)}, ${hexText(key)})`,
  );
  return sql`insert ignore into ${t.gates} (k, kind, group_name, key_name) values ${rows}`;
}

/** Index: by_k. */
export function gatesByHash(t: Tables, ks: readonly Buffer[]): Sql {
  return sql`select id, k from ${t.gates} force index (by_k) where k in ${list(ks.map(hexBytes))}`;
}

/** Index: by_k. */
export function linesByHash(t: Tables, ks: readonly Buffer[]): Sql {
  return sql`select id, k, key_gate, group_gate from ${t.lines} force index (by_k) where k in ${list(ks.map(hexBytes))}`;
}

export function insertLines(t: Tables, lines: readonly NewLine[], now: Sql): Sql {
  const rows = lines.map(
    ({ k, keyGate, groupGate, max, cost, requires }) =>
      sql`(${hexBytes(k)}, ${keyGate}, ${groupGate}, ${max}, ${cost}, ${hexText(requires)}, ${now})`,
  );
  return sql`insert into ${t.lines} (k, key_gate, group_gate, max_running, cost, requires, named_at) values ${rows}
    on duplicate key update named_at = values(named_at)`;
}

/** Index: primary. */
export function nameLines(t: Tables, ids: readonly number[], now: Sql): Sql {
  return sql`update ${t.lines} set named_at = ${now} where id in ${list(ids)}`;
}

/** id, group, key, max, cost, requires, key gate, group gate. Index: primary of both. */
export function readLines(t: Tables, ids: readonly number[]): Sql {
  return sql`select l.id, g.group_name, g.key_name, l.max_running, l.cost, l.requires, l.key_gate, l.group_gate
    from ${t.lines} l left join ${t.gates} g on g.id = l.key_gate where l.id in ${list(ids)}`;
}

/** How many of these lines there are; they stay until the commit. Index: primary, rows that are there only. */
export function pinLines(t: Tables, ids: readonly number[]): Sql {
  return sql`select count(*) from ${t.lines} force index (primary) where id in ${list(ids)} lock in share mode`;
}

/** The same in a packet: fails as a count mismatch where one is gone. */
export function requireLines(t: Tables, ids: readonly number[]): Sql {
  return sql`select exp(abs(count(*) - ${ids.length}) * 1000) from ${t.lines} force index (primary)
    where id in ${list(ids)} lock in share mode`;
}

/** Keeps these lanes until the commit, or makes them. In ascending order, as everybody does. */
export function holdLanes(t: Tables, lanes: readonly Lane[], now: Sql): Sql {
  return sql`insert ignore into ${t.lanes} (queue_id, line, rnk, name_id, made_at) values ${laneRows(lanes, now)}`;
}

/** Makes them, or makes them young: nothing young is removed. */
export function makeLanes(t: Tables, lanes: readonly Lane[], now: Sql): Sql {
  return sql`insert into ${t.lanes} (queue_id, line, rnk, name_id, made_at) values ${laneRows(lanes, now)}
    on duplicate key update made_at = values(made_at)`;
}

/** In a transaction of the user's: a lane that is there, by its whole key, so that nothing beside it is locked. Index: primary. */
export function pinLane(t: Tables, lane: Lane): Sql {
  return sql`select 1 as pinned from ${t.lanes} where ${laneKey(lane)} lock in share mode`;
}

function laneKey({ queueId, line, rnk, nameId }: Lane): Sql {
  return sql`queue_id = ${queueId} and line = ${line} and rnk = ${rnk} and name_id = ${nameId}`;
}

function laneRows(lanes: readonly Lane[], now: Sql): Sql[] {
  return sortedLanes(lanes).map(
    ({ queueId, line, rnk, nameId }) => sql`(${queueId}, ${line}, ${rnk}, ${nameId}, ${now})`,
  );
}

/** Each once. */
export function sortedLanes(lanes: readonly Lane[]): Lane[] {
  const each = new Map(
    lanes.map((lane) => [`${lane.queueId}.${lane.line}.${lane.rnk}.${lane.nameId}`, lane]),
  );
  return [...each.values()].sort(
    (a, b) => a.queueId - b.queueId || a.line - b.line || a.rnk - b.rnk || a.nameId - b.nameId,
  );
}

/** Queues that have never had an ordinary job are known as soon as they had one of another line. Index: primary. */
export function knowQueues(t: Tables, queueIds: readonly number[]): Sql {
  return sql`update ${t.queues} set lanes = 1 where id in ${list(queueIds)} and lanes = 0`;
}

export function insertMembers(
  t: Tables,
  members: readonly { readonly line: number; readonly id: Sql }[],
): Sql {
  return sql`insert into ${t.members} (line, job_id) values ${members.map(({ line, id }) => sql`(${line}, ${id})`)}`;
}

/** Before the bodies go. Index: primary of both. */
export function deleteMembers(t: Tables, ids: readonly Sql[]): Sql {
  return sql`delete m from ${t.jobs} j straight_join ${t.members} m on m.line = j.line and m.job_id = j.id
    where j.id in ${list(ids)} and j.line is not null`;
}

const idleLaneMs = 60_000;

/** Lanes of lines in which nothing stands, from one place on. Index: primary of lanes, by_name of ready, one dive each. */
export function idleLanes(t: Tables, after: Lane | null, limit: number, now: Sql): Sql {
  const from = after === null ? sql`1 = 1` : sql`(${beyondLane(after)})`;
  return sql`select queue_id, line, rnk, name_id, ${hasReady(t)} from (select * from ${t.lanes} where ${from}
      and line > 0 and made_at <= ${now} - ${idleLaneMs} order by queue_id, line, rnk, name_id limit ${limit}) l`;
}

function beyondLane({ queueId, line, rnk, nameId }: Lane): Sql {
  return join(
    [
      sql`queue_id > ${queueId}`,
      sql`(queue_id = ${queueId} and line > ${line})`,
      sql`(queue_id = ${queueId} and line = ${line} and rnk > ${rnk})`,
      sql`(queue_id = ${queueId} and line = ${line} and rnk = ${rnk} and name_id > ${nameId})`,
    ],
    ' or ',
  );
}

function hasReady(t: Tables): Sql {
  return sql`(select 1 from ${t.ready} r force index (by_name) where r.queue_id = l.queue_id and r.line = l.line
    and r.name_id = l.name_id and r.rnk = l.rnk limit 1)`;
}

/** Those nobody is just writing to. Index: primary. */
export function lockLanes(t: Tables, lanes: readonly Lane[]): Sql {
  const each = lanes.map((lane) => sql`(${laneKey(lane)})`);
  return sql`select queue_id, line, rnk, name_id from ${t.lanes} force index (primary) where ${join(each, ' or ')}
    for update skip locked`;
}

/** Whether something stands in them after all: read behind the lock. */
export function readyIn(t: Tables, lanes: readonly Lane[]): Sql {
  const each = lanes.map((lane) => sql`(${laneKey(lane)})`);
  return sql`select queue_id, line, rnk, name_id, ${hasReady(t)} from ${t.lanes} l where ${join(each, ' or ')}`;
}

/** Index: primary. */
export function deleteLanes(t: Tables, lanes: readonly Lane[]): Sql {
  const each = lanes.map((lane) => sql`(${laneKey(lane)})`);
  return sql`delete from ${t.lanes} where ${join(each, ' or ')}`;
}

const dayMs = 86_400_000;

const memberOf = (t: Tables): Sql => sql`(select 1 from ${t.members} m where m.line = l.id limit 1)`;

/** Lines without a job that nobody named for a day. Index: by_time of lines, primary of members, one dive each. */
export function unusedLines(t: Tables, limit: number, now: Sql): Sql {
  return sql`select l.id from ${t.lines} l force index (by_time) where l.named_at <= ${now} - ${dayMs}
    and ${memberOf(t)} is null order by l.named_at limit ${limit} for update skip locked`;
}

/** Which of these have a job after all, read behind the lock, and their gates. */
export function usedLines(t: Tables, ids: readonly number[]): Sql {
  return sql`select l.id, l.key_gate, l.group_gate, ${memberOf(t)} from ${t.lines} l where l.id in ${list(ids)}`;
}

export function deleteLines(t: Tables, ids: readonly number[]): Sql {
  return sql`delete from ${t.lines} where id in ${list(ids)}`;
}

/** Of these gates, in ascending order, those nobody is just naming. Index: primary. */
export function lockUnnamedGates(t: Tables, ids: readonly number[]): Sql {
  return sql`select id from ${t.gates} force index (primary) where id in ${list(ids)} order by id for update skip locked`;
}

/** Index: primary of gates; by_key and by_group of lines and slots. */
export function deleteGates(t: Tables, ids: readonly number[]): Sql {
  return sql`delete g from ${t.gates} g where g.id in ${list(ids)} and g.kind <> ${gateKind.queue}
    and (select 1 from ${t.lines} l force index (by_key) where l.key_gate = g.id limit 1) is null
    and (select 1 from ${t.lines} l force index (by_group) where l.group_gate = g.id limit 1) is null`;
}
