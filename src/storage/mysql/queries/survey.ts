import type { Lane } from '../lanes.js';
import { list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** From this place on; null: from the first. */
export interface SurveyPage {
  readonly queueId: number;
  readonly after: readonly [line: number, rnk: number, nameId: number] | null;
  readonly limit: number;
}

/**
 * The lanes of lines of a queue: line, rnk, name_id, due of the first job (null: none), served, how many run of the key, now.
 * Index: primary of lanes, by_name of ready and by_key of slots, one dive each; primary of lines and gates.
 */
export function surveyStatement(t: Tables, { queueId, after, limit }: SurveyPage, now: Sql): Sql {
  const [line, rnk, nameId] = after ?? [0, 0, 0];
  const beyond =
    after === null
      ? sql`line > 0`
      : sql`line >= ${line} and (line > ${line} or rnk > ${rnk} or (rnk = ${rnk} and name_id > ${nameId}))`;
  const first = sql`(select r.due from ${t.ready} r force index (by_name) where r.queue_id = l.queue_id and r.line = l.line
    and r.name_id = l.name_id and r.rnk = l.rnk order by r.due limit 1)`;
  const running = sql`(select count(*) from ${t.slots} s force index (by_key) where s.key_gate = n.key_gate)`;
  return sql`select l.line, l.rnk, l.name_id, ${first}, g.served, if(n.key_gate is null, 0, ${running}), ${now}
    from (select queue_id, line, rnk, name_id from ${t.lanes} force index (primary) where queue_id = ${queueId} and ${beyond}
      order by line, rnk, name_id limit ${limit}) l
    left join ${t.lines} n on n.id = l.line left join ${t.gates} g on g.id = n.key_gate
    order by l.line, l.rnk, l.name_id`;
}

/** Of lanes of lines; two sets of few lanes that differ have, for all that is likely, another sum. */
export function laneSum(lanes: readonly Lane[]): number {
  return lanes.reduce(
    (sum, { line, rnk, nameId }) => sum + 1_000_003 + line * 10_007 + (rnk + 200) * 101 + nameId,
    0,
  );
}

/** The same sum over what there is. Index: primary. */
export function laneSumNow(t: Tables, queueId: number): Sql {
  return sql`(select coalesce(sum(1000003 + line * 10007 + (rnk + 200) * 101 + name_id), 0) from ${t.lanes}
    where queue_id = ${queueId} and line > 0)`;
}

/** id, served; in ascending order, waiting for whoever has one. Index: primary. */
export function lockGates(t: Tables, ids: readonly number[]): Sql {
  return sql`select id, served from ${t.gates} force index (primary) where id in ${list(ids)} order by id for update`;
}

/** The same for gates beside some that are locked already: those that others have are left out. */
export function lockFreeGates(t: Tables, ids: readonly number[]): Sql {
  return sql`select id, served from ${t.gates} force index (primary) where id in ${list(ids)} order by id for update skip locked`;
}

/** gate, how many run, the smallest maximum among them. Index: by_key. */
export function countByKey(t: Tables, gates: readonly number[]): Sql {
  return sql`select key_gate, count(*), min(max_running) from ${t.slots} force index (by_key)
    where key_gate in ${list(gates)} group by key_gate`;
}

/** gate, summed cost. Index: by_group. */
export function costByGroup(t: Tables, gates: readonly number[]): Sql {
  return sql`select group_gate, sum(cost) from ${t.slots} force index (by_group)
    where group_gate in ${list(gates)} group by group_gate`;
}

/** gate, summed cost. Index: by_queue. */
export function costByQueue(t: Tables, gates: readonly number[]): Sql {
  return sql`select queue_gate, sum(cost) from ${t.slots} force index (by_queue)
    where queue_gate in ${list(gates)} group by queue_gate`;
}
