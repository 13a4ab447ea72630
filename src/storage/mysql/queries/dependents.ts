import { list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Who still waits for these: parent, child, policy. Index: primary (prefix). */
export function edgesOf(t: Tables, parents: readonly Sql[]): Sql {
  return sql`select parent, child, policy from ${t.edges} where parent in ${list(parents)} and met = 0`;
}

/** Index: primary. */
export function meetEdges(t: Tables, parents: readonly Sql[], children: readonly Sql[]): Sql {
  return sql`update ${t.edges} set met = 1 where parent in ${list(parents)} and child in ${list(children)}`;
}

/** Which of these still wait for something. Index: by_child. */
export function openEdgesOf(t: Tables, children: readonly Sql[]): Sql {
  return sql`select distinct child from ${t.edges} force index (by_child) where child in ${list(children)} and met = 0`;
}

/** What a job still waits for. Index: by_child. */
export function openParentsOf(t: Tables, child: Sql): Sql {
  return sql`select parent from ${t.edges} force index (by_child) where child = ${child} and met = 0 order by parent`;
}

/** What a job came after. Index: by_child. */
export function parentsOf(t: Tables, child: Sql): Sql {
  return sql`select parent from ${t.edges} force index (by_child) where child = ${child} order by parent`;
}

export interface NewEdge {
  readonly parent: Sql;
  readonly child: Sql;
  readonly policy: number;
  readonly isMet: boolean;
}

export function insertEdges(t: Tables, edges: readonly NewEdge[]): Sql {
  const rows = edges.map(
    ({ parent, child, policy, isMet }) => sql`(${parent}, ${child}, ${policy}, ${isMet ? 1 : 0})`,
  );
  return sql`insert into ${t.edges} (parent, child, policy, met) values ${rows}`;
}
