import type { ClaimRequest } from '../claimed-job.js';
import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import { QueueServing } from './queue-serving.js';
import type { Chosen } from './streams.js';
import { Turns } from './turns.js';
import { Usage } from './usage.js';

/** How often a claim goes on to lines that it didn't remember before it answers with less than it was asked for. */
const mostReadings = 10;

/** A take, as far as it has come. */
export interface Lender {
  /** How many jobs it still wants. */
  readonly left: number;
  /** For how many of them a slot is free. */
  readonly places: number;
  /** @param isBudgeted they are claimed under a budget of their queue */
  lend(chosen: readonly Chosen[], isBudgeted: boolean): void;
  /** The first due jobs of these kinds, all of them ordinary. */
  lendPlain(kinds: readonly Kind[]): void;
}

type Asked = Pick<ClaimRequest, 'budgets' | 'alone' | 'labels'>;

/** What the takes of one claim share: what runs, and whose turn it was. */
export class Claiming {
  readonly db: Connection;
  readonly nowMs: number;
  readonly isAlone: boolean;
  readonly labels: ReadonlySet<string>;
  readonly #asked: Asked;
  readonly #turns: Turns;
  readonly #budgeted: ReadonlySet<number | undefined>;
  #usage: Usage | undefined;

  constructor(db: Connection, asked: Asked, nowMs: number) {
    this.db = db;
    this.nowMs = nowMs;
    this.isAlone = asked.alone;
    this.labels = new Set(asked.labels);
    this.#asked = asked;
    this.#turns = new Turns(nowMs, db.lines.lastTurn);
    this.#budgeted = new Set(Object.keys(asked.budgets.queues).map((queue) => db.kinds.queueId(queue)));
  }

  /** Whether these jobs may run only as far as limits and budgets let them; ordinary ones cost nothing of this. */
  isMetered(queue: number, kinds: readonly Kind[]): boolean {
    return this.#budgeted.has(queue) || kinds.some(({ requires }) => requires !== null);
  }

  /**
   * Chooses what may run of a queue and lends it, reading on where more waits than is remembered. True: nothing may be
   * taken after this, since the next job could run but no slot is free for it.
   */
  serve(queue: number, kinds: readonly Kind[], lender: Lender): boolean {
    const plain = kinds.filter(({ requires }) => requires === null);
    for (let readings = 1; ; readings += 1) {
      const serving = this.#serving(queue, kinds, lender.left);
      const isBudgeted = this.#budgeted.has(queue);
      if (serving.hasLines || isBudgeted) {
        lender.lend(serving.choose(lender.left, lender.places), isBudgeted);
        serving.remember();
      } else lender.lendPlain(plain);
      if (serving.isOver) return true;
      if (lender.left === 0 || readings === mostReadings || !this.#readOn(kinds)) return false;
    }
  }

  /** Whether something of the queue may run now. Changes nothing. */
  hasRunnable(queue: number, kinds: readonly Kind[]): boolean {
    for (let readings = 1; ; readings += 1) {
      if (this.#serving(queue, kinds, 1).choose(1, 1).length > 0) return true;
      if (readings === mostReadings || !this.#readOn(kinds)) return false;
    }
  }

  /** The last thing before the commit: writes down whose turn it was. */
  finish(): void {
    this.db.lines.keepTurns(this.#turns.given);
  }

  /** False: there was nothing that had not been read. */
  #readOn(kinds: readonly Kind[]): boolean {
    if (this.isAlone) return false;
    const { stretches } = this.db;
    const unread = kinds.filter((kind) => kind.requires !== null && !stretches.isExact(kind));
    for (const kind of unread) stretches.refresh(kind);
    return unread.length > 0;
  }

  #serving(queue: number, kinds: readonly Kind[], limit: number): QueueServing {
    const { db, nowMs, isAlone } = this;
    this.#usage ??= new Usage(db, this.#asked.budgets);
    return new QueueServing(
      { db, queue, kinds, nowMs, usage: this.#usage, turns: this.#turns, isAlone },
      limit,
    );
  }
}
