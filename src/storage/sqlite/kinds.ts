import type { Connection } from './connection.js';
import * as sql from './queries/kinds.js';

/** A job name in a queue; of jobs that stand in lines, with the labels that they require. */
export interface Kind {
  readonly id: number;
  readonly queueId: number;
  readonly queue: string;
  readonly name: string;
  /** Null: ordinary jobs, which stand in no line. */
  readonly requires: readonly string[] | null;
}

interface KindRow extends Omit<Kind, 'requires'> {
  readonly requires: string;
}

const ofOrdinaryJobs = '';

/** What of a queue is known: ordinary kinds by name, the others by name and what they require. */
interface KnownQueue {
  readonly ordinary: Map<string, Kind>;
  readonly lined: Map<string, Map<string, Kind>>;
}

/**
 * Queues and names by their numbers. Rows of these tables are never changed or deleted (but for `paused`, which is not
 * kept here), so what was once committed stays true. Numbers given inside a transaction that is rolled back are
 * forgotten with it.
 */
export class Kinds {
  readonly #db: Connection;
  readonly #byId = new Map<number, Kind>();
  readonly #byQueue = new Map<string, KnownQueue>();
  readonly #queueIds = new Map<string, number>();
  readonly #queueNames = new Map<number, string>();
  #newest = 0;

  constructor(db: Connection) {
    this.#db = db;
  }

  /** The kind of ordinary jobs, made if there is none: only inside a write transaction. */
  ensure(queue: string, name: string): Kind {
    const known = this.#byQueue.get(queue)?.ordinary.get(name);
    if (known !== undefined) return known;
    this.#insert(queue, name, ofOrdinaryJobs);
    return this.#byQueue.get(queue)?.ordinary.get(name) as Kind;
  }

  /** The kind of jobs that stand in lines, made if there is none: only inside a write transaction. */
  ensureLined(queue: string, name: string, requires: readonly string[]): Kind {
    const labels = JSON.stringify(requires);
    const known = this.#byQueue.get(queue)?.lined.get(name)?.get(labels);
    if (known !== undefined) return known;
    this.#insert(queue, name, labels);
    return this.#byQueue.get(queue)?.lined.get(name)?.get(labels) as Kind;
  }

  /** The number of a queue, given if it has none: only inside a write transaction. */
  ensureQueue(queue: string): number {
    const known = this.queueId(queue);
    if (known !== undefined) return known;
    this.#db.run(sql.insertQueue, queue);
    return this.queueId(queue) as number;
  }

  queueId(queue: string): number | undefined {
    const known = this.#queueIds.get(queue);
    if (known !== undefined) return known;
    const id = this.#db.value<number>(sql.queueId, queue);
    if (id !== undefined) this.#rememberQueue(id, queue);
    return id;
  }

  queueName(id: number): string {
    const known = this.#queueNames.get(id);
    if (known !== undefined) return known;
    const name = this.#db.value<string>(sql.queueName, id) ?? '';
    this.#rememberQueue(id, name);
    return name;
  }

  byId(id: number): Kind {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    this.refresh();
    return this.#byId.get(id) as Kind;
  }

  /** Those of a queue with one of these names. */
  named(queueId: number, names: ReadonlySet<string>): Kind[] {
    this.refresh();
    const ofQueue = this.#byQueue.get(this.queueName(queueId));
    if (ofQueue === undefined) return [];
    return [...names].flatMap((name) => {
      const ordinary = ofQueue.ordinary.get(name);
      return [...(ordinary === undefined ? [] : [ordinary]), ...(ofQueue.lined.get(name)?.values() ?? [])];
    });
  }

  /** Every kind there is, of one queue or one name where asked. */
  all(filter: { readonly queue?: string | undefined; readonly name?: string | undefined }): Kind[] {
    this.refresh();
    return [...this.#byId.values()].filter(
      (kind) =>
        (filter.queue === undefined || kind.queue === filter.queue) &&
        (filter.name === undefined || kind.name === filter.name),
    );
  }

  /** Learns what others have added. */
  refresh(): void {
    for (const row of this.#db.all<KindRow>(sql.kindsAfter, this.#newest)) {
      this.#rememberQueue(row.queueId, row.queue);
      this.#rememberKind(row);
      this.#newest = row.id;
    }
  }

  forget(): void {
    this.#byId.clear();
    this.#byQueue.clear();
    this.#queueIds.clear();
    this.#queueNames.clear();
    this.#newest = 0;
  }

  #insert(queue: string, name: string, requires: string): void {
    this.#db.run(sql.insertKind, this.ensureQueue(queue), name, requires);
    this.refresh();
  }

  #rememberKind(row: KindRow): void {
    const isOrdinary = row.requires === ofOrdinaryJobs;
    const kind: Kind = { ...row, requires: isOrdinary ? null : (JSON.parse(row.requires) as string[]) };
    this.#byId.set(row.id, kind);
    const ofQueue = this.#byQueue.get(row.queue) ?? { ordinary: new Map(), lined: new Map() };
    this.#byQueue.set(row.queue, ofQueue);
    if (isOrdinary) {
      ofQueue.ordinary.set(row.name, kind);
      return;
    }
    const ofName = ofQueue.lined.get(row.name) ?? new Map<string, Kind>();
    ofQueue.lined.set(row.name, ofName.set(row.requires, kind));
  }

  #rememberQueue(id: number, queue: string): void {
    this.#queueIds.set(queue, id);
    this.#queueNames.set(id, queue);
  }
}
