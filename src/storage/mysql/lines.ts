/*
 * Lines: jobs that agree in group, key, maximum, cost and labels stand in one, by its number, in all queues. A line, once
 * read, never changes; it is remembered until a job can't be written into it because it is gone (`purging.ts` removes
 * lines without jobs), then everything is forgotten and read again.
 *
 * What a claim locks to count are gates: one per group and key, one per group, one per queue with a budget. They are made
 * with the first line (or budget) that needs them.
 */
import { createHash } from 'node:crypto';
import { isMillraceError, MillraceError } from '../../internal/errors.js';
import type { JobLimit } from '../job-limit.js';
import type { NewJob } from '../new-job.js';
import { gateKind, ordinaryLine } from './codes.js';
import type { Result } from './driver.js';
import type { Lane } from './lanes.js';
import {
  gatesByHash,
  insertGates,
  insertLines,
  knowQueues,
  linesByHash,
  makeLanes,
  type NewGate,
  nameLines,
  readLines,
} from './queries/lines.js';
import type { Session, Transaction } from './session.js';
import type { Sql } from './sql.js';
import type { Tables } from './tables.js';

export interface Line {
  readonly id: number;
  readonly limit: JobLimit | null;
  readonly cost: number;
  readonly requires: readonly string[];
  readonly keyGate: number | null;
  readonly groupGate: number | null;
}

type Demands = Pick<NewJob, 'limit' | 'cost' | 'requires'>;

/** Lines that a process remembers; more than this and it starts anew. */
const mostLines = 50_000;
/** How long a line is taken for one that was just named; it is removed a day after that. */
const namedForMs = 3_600_000;
/** Lines that are made in one transaction. */
const madeAtOnce = 500;

export function isOrdinary({ limit, cost, requires }: Demands): boolean {
  return limit === null && cost === 1 && requires.length === 0;
}

export class Lines {
  readonly #session: Session;
  readonly #t: Tables;
  readonly #now: () => Sql;
  readonly #clock: () => number;
  readonly #byText = new Map<string, { readonly line: Line; readonly namedAt: number }>();
  readonly #byId = new Map<number, Line>();
  readonly #queueGates = new Map<number, number>();
  readonly #knownQueues = new Set<number>();

  constructor(session: Session, t: Tables, time: { now: () => Sql; offsetMs: () => number }) {
    this.#session = session;
    this.#t = t;
    this.#now = time.now;
    this.#clock = () => performance.now() + time.offsetMs();
  }

  forget(): void {
    for (const cache of [this.#byText, this.#byId, this.#queueGates, this.#knownQueues]) cache.clear();
  }

  /** Makes the lines of these jobs, where they have one and it isn't known yet. */
  async ensure(jobs: readonly Demands[]): Promise<void> {
    const missing = new Map<string, Demands>();
    for (const job of jobs) {
      if (isOrdinary(job)) continue;
      const text = textOf(job);
      const known = this.#byText.get(text);
      if (known === undefined || this.#clock() - known.namedAt > namedForMs) missing.set(text, job);
    }
    if (missing.size === 0) return;
    if (this.#byText.size > mostLines) this.forget();
    const all = [...missing];
    for (let at = 0; at < all.length; at += madeAtOnce) await this.#make(all.slice(at, at + madeAtOnce));
  }

  /** The number of a job's line, known since `ensure`. */
  of(job: Demands): number {
    if (isOrdinary(job)) return ordinaryLine;
    const known = this.#byText.get(textOf(job));
    if (known === undefined) throw lineGone();
    return known.line.id;
  }

  /** Lanes of a transaction of the user's: they are made beside it, and pinned in it. */
  async makeLanes(lanes: readonly Lane[]): Promise<void> {
    if (lanes.length === 0) return;
    await this.knowQueues(lanes.map(({ queueId }) => queueId));
    await this.#session.send('adding lanes', makeLanes(this.#t, lanes, this.#now()));
  }

  /** Before a queue's first job of a line. */
  async knowQueues(queueIds: readonly number[]): Promise<void> {
    const fresh = [...new Set(queueIds)].filter((id) => !this.#knownQueues.has(id)).sort((a, b) => a - b);
    if (fresh.length === 0) return;
    await this.#session.send('naming queues', knowQueues(this.#t, fresh));
    for (const id of fresh) this.#knownQueues.add(id);
  }

  /** Makes `line` answer for these numbers. */
  async load(ids: Iterable<number>, send = this.#send): Promise<void> {
    const missing = [...new Set(ids)].filter((id) => id > 0 && !this.#byId.has(id));
    if (missing.length === 0) return;
    const [result] = await send(readLines(this.#t, missing));
    for (const row of result?.rows ?? []) {
      const line = lineOf(row);
      this.#byId.set(line.id, line);
    }
  }

  readonly #send = (...statements: readonly Sql[]): Promise<Result[]> =>
    this.#session.send('reading lines', ...statements);

  /** Undefined for ordinary jobs, and where the line is gone with its jobs. */
  line(id: number | null): Line | undefined {
    return id === null ? undefined : this.#byId.get(id);
  }

  /** The gate of a queue with a budget. */
  async queueGate(queueId: number): Promise<number> {
    const known = this.#queueGates.get(queueId);
    if (known !== undefined) return known;
    const gate = { k: hashOf(['queue', queueId]), kind: gateKind.queue, group: null, key: null };
    const [, found] = await this.#session.send(
      'naming a gate',
      insertGates(this.#t, [gate]),
      gatesByHash(this.#t, [gate.k]),
    );
    const id = found?.rows[0]?.[0];
    if (typeof id !== 'number') throw lineGone();
    this.#queueGates.set(queueId, id);
    return id;
  }

  async #make(demands: readonly (readonly [text: string, job: Demands])[]): Promise<void> {
    const wanted = demands.map(([text, job]) => ({ text, job, k: hashOf([text]), gates: gatesOf(job) }));
    wanted.sort((a, b) => Buffer.compare(a.k, b.k));
    const rows = await this.#session.transaction('naming lines', async (tx) => {
      const known = await this.#read(
        tx,
        wanted.map(({ k }) => k),
      );
      const fresh = wanted.filter(({ k }) => !known.has(k.toString('hex')));
      const old = [...known.values()].map(([id]) => id);
      if (old.length > 0)
        await tx.send(
          nameLines(
            this.#t,
            old.sort((a, b) => a - b),
            this.#now(),
          ),
        );
      if (fresh.length === 0) return known;
      const gates = await this.#gates(
        tx,
        fresh.flatMap(({ gates: own }) => own),
      );
      const idOf = (gate: NewGate | undefined): number | null =>
        gate === undefined ? null : (gates.get(gate.k.toString('hex')) ?? null);
      const lines = fresh.map(({ k, job, gates: [keyGate, groupGate] }) => ({
        k,
        keyGate: idOf(keyGate),
        groupGate: idOf(groupGate),
        max: job.limit?.max ?? null,
        cost: job.cost,
        requires: job.requires.length === 0 ? null : JSON.stringify(job.requires),
      }));
      await tx.send(insertLines(this.#t, lines, this.#now()));
      return this.#read(
        tx,
        wanted.map(({ k }) => k),
      );
    });
    for (const { text, job, k } of wanted) {
      const row = rows.get(k.toString('hex'));
      if (row === undefined) throw lineGone();
      const [id, keyGate, groupGate] = row;
      const { limit, cost, requires } = job;
      const line = { id, limit, cost, requires, keyGate, groupGate };
      this.#byText.set(text, { line, namedAt: this.#clock() });
      this.#byId.set(id, line);
    }
  }

  async #read(
    tx: Transaction,
    ks: readonly Buffer[],
  ): Promise<Map<string, [id: number, keyGate: number | null, groupGate: number | null]>> {
    const [result] = await tx.send(linesByHash(this.#t, ks));
    return new Map(
      (result?.rows ?? []).map(([id, k, keyGate, groupGate]) => [
        (k as Buffer).toString('hex'),
        [id as number, keyGate as number | null, groupGate as number | null],
      ]),
    );
  }

  async #gates(tx: Transaction, gates: readonly NewGate[]): Promise<Map<string, number>> {
    const each = new Map(gates.map((gate) => [gate.k.toString('hex'), gate]));
    const sorted = [...each.values()].sort((a, b) => Buffer.compare(a.k, b.k));
    if (sorted.length === 0) return new Map();
    const [, found] = await tx.send(
      insertGates(this.#t, sorted),
      gatesByHash(
        this.#t,
        sorted.map(({ k }) => k),
      ),
    );
    return new Map((found?.rows ?? []).map(([id, k]) => [(k as Buffer).toString('hex'), id as number]));
  }
}

const hashOf = (parts: readonly unknown[]): Buffer =>
  createHash('sha256').update(JSON.stringify(parts)).digest();

function textOf({ limit, cost, requires }: Demands): string {
  return JSON.stringify([limit?.group ?? null, limit?.key ?? null, limit?.max ?? null, cost, requires]);
}

/** Of its key and of its group. */
function gatesOf({ limit }: Demands): NewGate[] {
  if (limit === null) return [];
  const { group, key } = limit;
  return [
    { k: hashOf(['key', group, key]), kind: gateKind.key, group, key },
    { k: hashOf(['group', group]), kind: gateKind.group, group, key: null },
  ];
}

function lineOf(row: readonly unknown[]): Line {
  const [id, group, key, max, cost, requires, keyGate, groupGate] = row as [
    number,
    Buffer | null,
    Buffer | null,
    number | null,
    number,
    string | null,
    number | null,
    number | null,
  ];
  const limit = group === null ? null : { group: group.toString(), key: key?.toString() ?? null, max };
  return {
    id,
    limit,
    cost,
    requires: requires === null ? [] : (JSON.parse(requires) as string[]),
    keyGate,
    groupGate,
  };
}

/** A line that was remembered has been removed: forget, and name it again. */
export const lineGone = (): MillraceError =>
  new MillraceError('internal', 'MySQL: the line of a job was removed while the job was written', {
    details: { isLineGone: true },
  });

export const isLineGone = (error: unknown): boolean =>
  isMillraceError(error) && error.details['isLineGone'] === true;
