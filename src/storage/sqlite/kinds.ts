import type { Connection } from './connection.js';
import * as sql from './queries/kinds.js';

/** A job name in a queue. */
export interface Kind {
  readonly id: number;
  readonly queueId: number;
  readonly queue: string;
  readonly name: string;
}

/**
 * Queues and names by their numbers. Rows of these tables are never changed or deleted (but for `paused`, which is not
 * kept here), so what was once committed stays true. Numbers given inside a transaction that is rolled back are
 * forgotten with it.
 */
export class Kinds {
  readonly #db: Connection;
  readonly #byId = new Map<number, Kind>();
  readonly #byQueue = new Map<string, Map<string, Kind>>();
  readonly #queueIds = new Map<string, number>();
  readonly #queueNames = new Map<number, string>();
  #newest = 0;

  constructor(db: Connection) {
    this.#db = db;
  }

  /** The kind, made if there is none: only inside a write transaction. */
  ensure(queue: string, name: string): Kind {
    const known = this.#byQueue.get(queue)?.get(name);
    if (known !== undefined) return known;
    const queueId = this.ensureQueue(queue);
    this.#db.run(sql.insertKind, queueId, name);
    this.refresh();
    return this.#byQueue.get(queue)?.get(name) as Kind;
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
    return [...names].map((name) => ofQueue?.get(name)).filter((kind) => kind !== undefined);
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
    for (const row of this.#db.all<Kind>(sql.kindsAfter, this.#newest)) {
      this.#byId.set(row.id, row);
      this.#rememberQueue(row.queueId, row.queue);
      const names = this.#byQueue.get(row.queue) ?? new Map<string, Kind>();
      this.#byQueue.set(row.queue, names.set(row.name, row));
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

  #rememberQueue(id: number, queue: string): void {
    this.#queueIds.set(queue, id);
    this.#queueNames.set(id, queue);
  }
}
