import { boundLimit } from '../bound-limit.js';

export interface LineRow {
  readonly id: number;
  readonly gate: number | null;
  readonly group: string | null;
  readonly key: string | null;
  readonly served: number | null;
  readonly max: number | null;
  readonly cost: number;
  readonly requires: string;
}

/** By primary keys, of a JSON array of numbers. */
export const linesById = `
  select l.id, l.gate, g.grp as "group", g.key, g.served, l.max, l.cost, l.requires
  from json_each(?) wanted cross join lines l on l.id = wanted.value left join gates g on g.id = l.gate`;

/** Index gates_key. */
export const gateOf = 'select id from gates indexed by gates_key where grp = ? and key is ?';

export const insertGate = 'insert into gates (grp, key) values (?, ?) returning id';

/** By primary keys, of a JSON array of numbers. */
export const servedOf = `
  select g.id, g.served from json_each(?) wanted cross join gates g on g.id = wanted.value`;

/** By primary keys, of a JSON array of numbers in the order in which they were served. */
export const setServed = `
  update gates set served = ? + wanted.key from json_each(?) wanted where gates.id = wanted.value`;

/** Index lines_terms. */
export const lineOf = `
  select id, named_at as namedAt from lines indexed by lines_terms
  where gate is ? and max is ? and cost = ? and requires = ?`;

export const insertLine =
  'insert into lines (gate, max, cost, requires, named_at) values (?, ?, ?, ?, ?) returning id';

/** By primary key. */
export const setNamed = 'update lines set named_at = ? where id = ?';

/** Index lines_named. */
export const notNamedSince = `
  select id, gate from lines indexed by lines_named where named_at <= ? order by named_at ${boundLimit}`;

/** Index jobs_line, twice: also what must run alone. */
export const isInUse = `
  select exists (select 1 from jobs indexed by jobs_line where line not in (0, -1) and line = ?)
      or exists (select 1 from jobs indexed by jobs_line where line not in (0, -1) and line = ~?)`;

/** By primary key. */
export const deleteLine = 'delete from lines where id = ?';

/** By primary key, then index lines_terms. */
export const deleteGate = `
  delete from gates where id = ? and not exists (select 1 from lines indexed by lines_terms where gate = gates.id)`;
