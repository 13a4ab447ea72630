import { ordinaryLine } from './codes.js';
import type { Session } from './session.js';
import { join, list, type Sql, sql } from './sql.js';
import type { Tables } from './tables.js';

/** A line, rank and name that a queue has had jobs of. Here those of ordinary jobs and of those that run alone; of others: `survey.ts`. */
export interface Lane {
  readonly queueId: number;
  readonly line: number;
  readonly rnk: number;
  readonly nameId: number;
}

interface KnownQueue {
  readonly version: number;
  readonly lanes: readonly Lane[];
}

/** How long it is believed whether jobs of other names stand in a queue; a claim that believes wrong is slow, never wrong. */
const foreignBelievedMs = 250;
/** One per queue, line and list of names that a worker of this process asks with. */
const mostBeliefs = 1_000;

/**
 * Which lanes each queue has. A claim reads one bounded range of the index per rank, so that jobs which are not due yet are
 * never walked over; it carries the version it knows (`queues.lanes`) and takes nothing if that has moved on.
 */
export class Lanes {
  readonly #session: Session;
  readonly #t: Tables;
  readonly #queues = new Map<number, KnownQueue>();
  readonly #written = new Set<string>();
  readonly #foreign = new Map<string, { readonly ranks: ReadonlySet<number>; readonly readAt: number }>();

  constructor(session: Session, t: Tables) {
    this.#session = session;
    this.#t = t;
  }

  forget(): void {
    this.#queues.clear();
    this.#written.clear();
    this.#foreign.clear();
  }

  /** Writes the lanes that are new to this process, before the first job in them is written. */
  async ensure(lanes: readonly Lane[]): Promise<void> {
    const fresh = lanes.filter((lane) => !this.#written.has(keyOf(lane)));
    if (fresh.length === 0) return;
    const rows = fresh.map(({ queueId, line, rnk, nameId }) => sql`(${queueId}, ${line}, ${rnk}, ${nameId})`);
    const queueIds = [...new Set(fresh.map(({ queueId }) => queueId))].sort((a, b) => a - b);
    await this.#session.sendTransaction('adding lanes', [
      sql`insert ignore into ${this.#t.lanes} (queue_id, line, rnk, name_id) values ${rows}`,
      sql`update ${this.#t.queues} set lanes = lanes + 1 where id in ${list(queueIds)}`,
    ]);
    for (const lane of fresh) this.#written.add(keyOf(lane));
  }

  /** What is known of a queue. */
  of(queueId: number): KnownQueue | undefined {
    return this.#queues.get(queueId);
  }

  /** Reads the lanes of these queues. The version first: lanes that came in between then only cost another reading. */
  async load(queueIds: readonly number[]): Promise<void> {
    const [versions, lanes] = await this.#session.send(
      'reading lanes',
      sql`select id, lanes from ${this.#t.queues} where id in ${list(queueIds)}`,
      sql`select queue_id, line, rnk, name_id from ${this.#t.lanes} where queue_id in ${list(queueIds)}
        and line <= ${ordinaryLine}`,
    );
    for (const [id, version] of (versions?.rows ?? []) as [number, number][]) {
      const own = ((lanes?.rows ?? []) as [number, number, number, number][]).filter(
        ([queueId]) => queueId === id,
      );
      this.#queues.set(id, {
        version,
        lanes: own.map(([queueId, line, rnk, nameId]) => ({ queueId, line, rnk, nameId })),
      });
    }
  }

  /** A condition that holds while what is known of these queues is all there is. */
  areCurrent(queueIds: readonly number[]): Sql {
    if (queueIds.length === 0) return sql`1 = 1`;
    const known = queueIds.map((id) => sql`(id = ${id} and lanes = ${this.of(id)?.version ?? -1})`);
    return sql`(select count(*) from ${this.#t.queues} where ${join(known, ' or ')}) = ${queueIds.length}`;
  }

  /** The ranks in which jobs of other names stand in this line now. */
  async foreignRanks(
    queueId: number,
    line: number,
    knownNames: readonly number[],
  ): Promise<ReadonlySet<number>> {
    const key = `${queueId}/${line}/${knownNames.join()}`;
    const believed = this.#foreign.get(key);
    if (believed !== undefined && performance.now() - believed.readAt < foreignBelievedMs)
      return believed.ranks;
    const [result] = await this.#session.send(
      'looking for jobs of other names',
      foreignStatement(this.#t, queueId, line, knownNames),
    );
    const rows = (result?.rows ?? []) as [rnk: number, has: number | null][];
    const ranks = new Set(rows.filter(([, has]) => has === 1).map(([rnk]) => rnk));
    if (this.#foreign.size > mostBeliefs) this.#foreign.clear();
    this.#foreign.set(key, { ranks, readAt: performance.now() });
    return ranks;
  }
}

/** For each lane of another name, whether a job stands in it. Index: primary of lanes, by_name of ready, one dive each. */
export function foreignStatement(
  t: Tables,
  queueId: number,
  line: number,
  knownNames: readonly number[],
): Sql {
  const others = knownNames.length === 0 ? sql`` : sql`and l.name_id not in ${list(knownNames)}`;
  return sql`select l.rnk, (select 1 from ${t.ready} r force index (by_name) where r.queue_id = l.queue_id and r.line = l.line
      and r.name_id = l.name_id and r.rnk = l.rnk limit 1)
    from ${t.lanes} l where l.queue_id = ${queueId} and l.line = ${line} ${others}`;
}

const keyOf = ({ queueId, line, rnk, nameId }: Lane): string => `${queueId}.${line}.${rnk}.${nameId}`;
