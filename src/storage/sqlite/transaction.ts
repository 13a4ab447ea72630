import type { Connection } from './connection.js';
import * as sql from './queries/ended-counts.js';

/** One write transaction as an operation sees it: the connection, its time, and what is to follow the commit. */
export class Transaction {
  readonly db: Connection;
  /** The database's clock plus the offset, read once. */
  readonly nowMs: number;
  /** Queues in which something may have become claimable. */
  readonly awakened = new Set<string>();
  /** Something may have become claimable in any queue. */
  wakesAll = false;
  readonly #ended = new Map<number, Map<number, number>>();

  constructor(db: Connection, nowMs: number) {
    this.db = db;
    this.nowMs = nowMs;
  }

  wake(queueId: number): void {
    this.awakened.add(this.db.kinds.queueName(queueId));
  }

  countEnding(queueId: number, status: number): void {
    const counts = this.#ended.get(queueId) ?? new Map<number, number>();
    this.#ended.set(queueId, counts.set(status, (counts.get(status) ?? 0) + 1));
  }

  /** Writes what was counted; the last thing before the commit. */
  finish(): void {
    for (const [queueId, counts] of this.#ended) {
      for (const [status, n] of counts) this.db.run(sql.addEnded, queueId, status, n);
    }
  }
}
