/*
 * Lines by their numbers, and numbers by what the lines mean.
 *
 * A line is what jobs share that may not simply run: group and key with their maximum, cost, labels. The jobs of a line
 * can all run or none can, so a claim passes over it as a whole. A gate is what a maximum counts: a key of a group, or
 * the group without one; jobs of one gate stand in several lines where their maximum, cost or labels differ.
 *
 * A line goes when no job has stood in it for a day. What a dispatch remembers of one it looks up again after an hour,
 * and writes down that it did, so what is purged is remembered by nobody. Numbers are never given twice: what a claim
 * remembers of a line stays true.
 */
import type { NewJob } from '../new-job.js';
import type { Connection } from './connection.js';
import * as sql from './queries/lines.js';

export type Terms = Pick<NewJob, 'limit' | 'cost' | 'requires'>;

export interface Gate {
  readonly id: number;
  readonly group: string;
  readonly key: string | null;
  /** When a claim last took from it: greater is later; 0 = never. */
  served: number;
}

export interface Line {
  readonly id: number;
  readonly gate: Gate | null;
  readonly limit: NewJob['limit'];
  readonly cost: number;
  readonly requires: readonly string[];
}

const hourMs = 3_600_000;
export const dayMs = 86_400_000;
/** Of lines and of terms; beyond it all are forgotten and looked up again. */
const mostRemembered = 20_000;

/** The line of ordinary jobs, which is none. */
export const ordinary: Line = Object.freeze({
  id: 0,
  gate: null,
  limit: null,
  cost: 1,
  requires: Object.freeze([]),
});

export const isOrdinary = ({ limit, cost, requires }: Terms): boolean =>
  limit === null && cost === 1 && requires.length === 0;

/** What `jobs.line` says of a job that must run alone, and back. */
export const aloneLine = (line: number): number => (line < 0 ? line : ~line);
export const ownLine = (line: number): number => (line < 0 ? ~line : line);

export class LineBook {
  /** The newest turn that a claim here has given. */
  lastTurn = 0;
  readonly #db: Connection;
  readonly #byId = new Map<number, Line>();
  readonly #byTerms = new Map<string, { readonly id: number; readonly untilMs: number }>();
  readonly #gates = new Map<number, Gate>();

  constructor(db: Connection) {
    this.#db = db;
  }

  /** The number of the line of these terms, made if there is none: only inside a write transaction. */
  ensure(terms: Terms, nowMs: number): number {
    const key = JSON.stringify([terms.limit, terms.cost, terms.requires]);
    const known = this.#byTerms.get(key);
    if (known !== undefined && nowMs < known.untilMs) return known.id;
    const id = this.#named(terms, nowMs);
    if (this.#byTerms.size >= mostRemembered) this.#byTerms.clear();
    this.#byTerms.set(key, { id, untilMs: nowMs + hourMs });
    return id;
  }

  byId(id: number): Line {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    this.load([id]);
    return this.#byId.get(id) ?? ordinary;
  }

  /** Learns these at once, if it doesn't know them. */
  load(ids: readonly number[]): void {
    const unknown = ids.filter((id) => id !== ordinary.id && !this.#byId.has(id));
    if (unknown.length === 0) return;
    if (this.#byId.size >= mostRemembered) this.#forgetLines();
    for (const row of this.#db.all<sql.LineRow>(sql.linesById, JSON.stringify(unknown))) this.#remember(row);
  }

  /** Reads again when these gates were served. */
  refreshServed(lines: readonly Line[]): void {
    const gates = new Set(lines.flatMap(({ gate }) => (gate === null ? [] : [gate.id])));
    if (gates.size === 0) return;
    const rows = this.#db.tuples<readonly [id: number, served: number]>(
      sql.servedOf,
      JSON.stringify([...gates]),
    );
    for (const [id, served] of rows) {
      const gate = this.#gates.get(id);
      if (gate !== undefined) gate.served = served;
    }
  }

  /** Writes down who was served, and keeps it: only inside a write transaction. */
  keepTurns(turns: ReadonlyMap<Gate, number>): void {
    if (turns.size === 0) return;
    const inOrder = [...turns].sort(([, a], [, b]) => a - b);
    const [[, first]] = inOrder as [[Gate, number]];
    for (const [at, [gate]] of inOrder.entries()) gate.served = first + at;
    this.lastTurn = first + inOrder.length;
    this.#db.run(sql.setServed, first, JSON.stringify(inOrder.map(([{ id }]) => id)));
  }

  /** What was learned inside a transaction that is rolled back was never true. */
  forget(): void {
    this.#byTerms.clear();
    this.#forgetLines();
  }

  #forgetLines(): void {
    this.#byId.clear();
    this.#gates.clear();
  }

  #named({ limit, cost, requires }: Terms, nowMs: number): number {
    const db = this.#db;
    const gate = limit === null ? null : this.#gateOf(limit.group, limit.key);
    const what = [gate, limit?.max ?? null, cost, JSON.stringify(requires)] as const;
    const known = db.get<{ id: number; namedAt: number }>(sql.lineOf, ...what);
    if (known === undefined) return db.value<number>(sql.insertLine, ...what, nowMs) as number;
    if (known.namedAt <= nowMs - hourMs) db.run(sql.setNamed, nowMs, known.id);
    return known.id;
  }

  #gateOf(group: string, key: string | null): number {
    const known = this.#db.value<number>(sql.gateOf, group, key);
    return known ?? (this.#db.value<number>(sql.insertGate, group, key) as number);
  }

  #remember(row: sql.LineRow): void {
    const gate = this.#rememberGate(row);
    this.#byId.set(row.id, {
      id: row.id,
      gate,
      limit: gate === null ? null : { group: gate.group, key: gate.key, max: row.max },
      cost: row.cost,
      requires: JSON.parse(row.requires) as string[],
    });
  }

  #rememberGate({ gate: id, group, key, served }: sql.LineRow): Gate | null {
    if (id === null || group === null) return null;
    const known = this.#gates.get(id);
    if (known !== undefined) return known;
    const gate: Gate = { id, group, key, served: served ?? 0 };
    this.#gates.set(id, gate);
    return gate;
  }
}
