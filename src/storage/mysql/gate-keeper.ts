/*
 * The gates that one claim locks, and what it found running behind them. A key's gate is locked for every line of a group,
 * that of a group or queue where the claim names a budget for it.
 */
import type { PeekRequest } from '../claimed-job.js';
import { hasRoom, Occupancy, type Room } from '../occupancy.js';
import type { Context } from './context.js';
import type { Result } from './driver.js';
import type { Line } from './lines.js';
import { costByGroup, costByQueue, countByKey, lockFreeGates, lockGates } from './queries/survey.js';
import type { Session } from './session.js';
import { type Sql, sql } from './sql.js';
import type { Tables } from './tables.js';

/** What the statements of one round ask for. */
interface Asked {
  readonly gates: readonly number[];
  /** By gate. */
  readonly keys: ReadonlyMap<number, Line>;
  readonly groups: ReadonlyMap<number, Line>;
}

const nobody: Asked = Object.freeze({ gates: [], keys: new Map(), groups: new Map() });

/** Beside all keys of users: its turn is where the turns of a group go on. */
const turnKey = '\0turn';

export class GateKeeper {
  readonly #t: Tables;
  readonly #budgets: PeekRequest['budgets'];
  /** By number, of those with a budget. */
  readonly #queueNames: ReadonlyMap<number, string>;
  /** By queue with a budget. */
  readonly queueGates: ReadonlyMap<number, number>;
  readonly #locked = new Set<number>();
  #asked: Asked = nobody;
  #occupancy: Occupancy;
  /** As if nothing ran. */
  readonly #unused: Occupancy;

  private constructor(
    t: Tables,
    budgets: PeekRequest['budgets'],
    queues: ReadonlyMap<number, { readonly name: string; readonly gate: number }>,
  ) {
    this.#t = t;
    this.#budgets = budgets;
    this.#queueNames = new Map([...queues].map(([id, { name }]) => [id, name]));
    this.queueGates = new Map([...queues].map(([id, { gate }]) => [id, gate]));
    this.#occupancy = new Occupancy(budgets);
    this.#unused = new Occupancy(budgets);
  }

  static async for(context: Context, request: Pick<PeekRequest, 'takes' | 'budgets'>): Promise<GateKeeper> {
    const { budgets } = request;
    const queues = new Map<number, { name: string; gate: number }>();
    for (const name of new Set(request.takes.flatMap((take) => take.queues))) {
      if (!Object.hasOwn(budgets.queues, name)) continue;
      const queueId = await context.queues.id(name);
      queues.set(queueId, { name, gate: await context.lines.queueGate(queueId) });
    }
    return new GateKeeper(context.t, budgets, queues);
  }

  /** Forgets what was found by a transaction that is done again from its start. */
  begin(): void {
    this.#locked.clear();
    this.#asked = nobody;
    this.#occupancy = new Occupancy(this.#budgets);
  }

  /** Whether a job of this line could ever run here: one that costs more than a whole budget can't. */
  couldAfford({ cost, limit }: Line, queueId: number): boolean {
    return hasRoom(this.#unused.roomFor(this.#nameOf(queueId), { limit, cost }));
  }

  /** Statements that lock what these lines need and isn't locked yet, and then count. */
  statements(lines: readonly Line[]): Sql[] {
    const t = this.#t;
    const isFirst = this.#locked.size === 0;
    const keys = new Map<number, Line>();
    const groups = new Map<number, Line>();
    for (const line of lines) {
      const { keyGate, groupGate, limit } = line;
      if (keyGate !== null && !this.#locked.has(keyGate)) keys.set(keyGate, line);
      const hasBudget = limit !== null && Object.hasOwn(this.#budgets.groups, limit.group);
      if (groupGate !== null && hasBudget && !this.#locked.has(groupGate)) groups.set(groupGate, line);
    }
    const queueGates = [...this.queueGates.values()].filter((gate) => !this.#locked.has(gate));
    const gates = [...keys.keys(), ...groups.keys(), ...queueGates].sort((a, b) => a - b);
    this.#asked = { gates, keys, groups };
    if (gates.length === 0) return [];
    return [
      isFirst ? lockGates(t, gates) : lockFreeGates(t, gates),
      keys.size > 0 ? countByKey(t, [...keys.keys()]) : nothing,
      groups.size > 0 ? costByGroup(t, [...groups.keys()]) : nothing,
      queueGates.length > 0 ? costByQueue(t, queueGates) : nothing,
    ];
  }

  /** What these statements answered; none: nothing was to be locked. */
  read(results: readonly Result[], nowMs: number): void {
    const [locked, byKey, byGroup, byQueue] = results;
    const { keys, groups } = this.#asked;
    const counts = new Map(
      ((byKey?.rows ?? []) as [number, number, number | null][]).map(([gate, running, leastMax]) => [
        gate,
        { running: Number(running), leastMax },
      ]),
    );
    const groupCosts = sums(byGroup);
    const queueCosts = sums(byQueue);
    const queueOf = new Map([...this.queueGates].map(([queueId, gate]) => [gate, queueId]));
    for (const [gate, turn] of (locked?.rows ?? []) as [number, number][]) {
      this.#locked.add(gate);
      const limit = keys.get(gate)?.limit ?? null;
      if (limit !== null) {
        const { running, leastMax } = counts.get(gate) ?? { running: 0, leastMax: null };
        this.#occupancy.note(limit, { running, leastMax, cost: 0, turn });
        // Keys that were not looked at have had their turns too, all of them in the past.
        const past = { group: limit.group, key: turnKey };
        this.#occupancy.note(past, { running: 0, leastMax: null, cost: 0, turn: nowMs * 1_000 });
      }
      const group = groups.get(gate)?.limit?.group;
      if (group !== undefined)
        this.#occupancy.note(
          { group, key: turnKey },
          { running: 0, leastMax: null, cost: groupCosts.get(gate) ?? 0, turn: 0 },
        );
      const queueId = queueOf.get(gate);
      if (queueId !== undefined) this.#occupancy.noteQueue(this.#nameOf(queueId), queueCosts.get(gate) ?? 0);
    }
  }

  /** The same without a lock: what is true now and may not be in a moment. */
  async look(lines: readonly Line[], session: Pick<Session, 'send'>): Promise<void> {
    const [lock, ...counts] = this.statements(lines);
    if (lock === undefined) return;
    const results: Result[] = [{ rows: this.#asked.gates.map((gate) => [gate, 0]), changed: 0 }];
    for (const statement of counts) results.push(...(await session.send('looking at limits', statement)));
    this.read(results, 0);
  }

  /** Whether everything that this line needs was locked. */
  guards({ keyGate, groupGate, limit }: Line): boolean {
    if (limit === null || keyGate === null) return true;
    if (!this.#locked.has(keyGate)) return false;
    const hasBudget = Object.hasOwn(this.#budgets.groups, limit.group);
    return !hasBudget || (groupGate !== null && this.#locked.has(groupGate));
  }

  /** Where a job of this line (null: an ordinary one) has to find room. */
  roomFor(line: Line | null, queueId: number): Room {
    return this.#occupancy.roomFor(this.#nameOf(queueId), line ?? ordinaryBounds);
  }

  #nameOf(queueId: number): string {
    return this.#queueNames.get(queueId) ?? `#${queueId}`;
  }
}

const ordinaryBounds = Object.freeze({ limit: null, cost: 1 });

const nothing = sql`do 0`;

function sums(result: Result | undefined): Map<number, number> {
  return new Map((result?.rows ?? []).map(([gate, cost]) => [gate as number, Number(cost)]));
}
