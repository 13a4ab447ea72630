import { hexId, hexText, type Sql, sql } from './sql.js';
import type { Tables } from './tables.js';

/** What stands in `marks` about a job that is not (or no longer) a plain one. */
export interface Marks {
  readonly attempts: number;
  readonly deaths: number;
  readonly lapses: number;
  readonly line: number;
  readonly due: number;
  /** It was claimed or final once. */
  readonly isSpent: boolean;
  readonly claimedAt: number | null;
  readonly workerId: number | null;
  readonly reason: string | null;
  readonly errors: string | null;
}

export const noMarks = (due: number, line: number): Marks => ({
  attempts: 0,
  deaths: 0,
  lapses: 0,
  line,
  due,
  isSpent: false,
  claimedAt: null,
  workerId: null,
  reason: null,
  errors: null,
});

/** Columns that `marksOf` reads. */
export const marksColumns: Sql = sql`m.id as mark, m.attempts, m.deaths, m.lapses, m.line, m.due, m.spent, m.claimed_at, m.worker_id,
  m.reason, m.errors`;
export const marksWidth = 11;

/** From the columns of `marksColumns`, whose first is null where there is no row. */
export function marksOf(row: readonly unknown[]): Marks | null {
  if (row[0] === null) return null;
  return {
    attempts: row[1] as number,
    deaths: row[2] as number,
    lapses: row[3] as number,
    line: row[4] as number,
    due: row[5] as number,
    isSpent: row[6] === 1,
    claimedAt: row[7] as number | null,
    workerId: row[8] as number | null,
    reason: row[9] as string | null,
    errors: row[10] as string | null,
  };
}

/** Index: primary. */
export function writeMarks(t: Tables, rows: readonly { readonly id: string; readonly marks: Marks }[]): Sql {
  const values = rows.map(
    ({
      id,
      marks,
    }) => sql`(${hexId(id)}, ${marks.attempts}, ${marks.deaths}, ${marks.lapses}, ${marks.line}, ${marks.due},
    ${marks.isSpent ? 1 : 0}, ${marks.claimedAt}, ${marks.workerId}, ${hexText(marks.reason)}, ${hexText(marks.errors)})`,
  );
  return sql`insert into ${t.marks} (id, attempts, deaths, lapses, line, due, spent, claimed_at, worker_id, reason, errors)
    values ${values} on duplicate key update attempts = values(attempts), deaths = values(deaths), lapses = values(lapses),
    line = values(line), due = values(due), spent = values(spent), claimed_at = values(claimed_at),
    worker_id = values(worker_id), reason = values(reason), errors = values(errors)`;
}
