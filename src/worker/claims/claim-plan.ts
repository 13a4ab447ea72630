/**
 * What a worker asks storage for: one part for each kind of slot with room, in the order of its queues, all in one claim.
 *
 * The rooms say what would fit, the orders what is worth asking for; who waits for what is decided here and nowhere else.
 * A claim on its way is the worker's reservation: no other goes before its answer was learned from.
 */
import type { LaneKind } from '../../core/lane-kind.js';
import type { ClaimedJob, Take } from '../../storage/claimed-job.js';
import type { QueueOrder, QueuePart, Room } from './queue-order.js';

/** The slots of one kind, as seen by the claims. */
export interface KindOfSlots {
  readonly kind: LaneKind;
  readonly order: QueueOrder;
  /** What fits now, or null. */
  readonly room: () => Room | null;
  /** Names of the jobs that may be taken for them now. */
  readonly names: () => readonly string[];
  /** It has slots that could take something, busy ones included: what waits for these counts. */
  readonly isServing: () => boolean;
}

interface PlannedPart {
  readonly of: KindOfSlots;
  readonly part: QueuePart;
  readonly names: readonly string[];
}

/** A claim to be made, and what is needed to learn from its answer. */
export interface PlannedClaim {
  readonly takes: readonly Take[];
  readonly alone: boolean;
  readonly parts: readonly PlannedPart[];
}

export interface ClaimPlanOptions {
  readonly kinds: readonly KindOfSlots[];
  /** The kind of slot that runs jobs of this name. */
  readonly kindOf: (name: string) => LaneKind;
  /** Nothing is claimed at all. */
  readonly isClosed: () => boolean;
  /** Something must run with nothing beside it: `claim` asks for one such job and nothing else, `wait` for nothing. */
  readonly lone: () => 'claim' | 'wait' | null;
}

/** Storage takes so many parts in one claim. */
const mostParts = 16;
const forBuffer: Room = { limit: 1, start: 0 };
const forSlots: Room = { limit: 1, start: 1 };

export class ClaimPlan {
  readonly #options: ClaimPlanOptions;
  /** Queues of which a wake-up spoke while a claim was on its way; null: any. */
  #woken: Set<string> | null = new Set();

  constructor(options: ClaimPlanOptions) {
    this.#options = options;
  }

  /** Nothing that could run is known to wait. A kind without slots counts as that: its jobs are not for this worker. */
  get isEmpty(): boolean {
    return this.#options.kinds.every(({ order, names, isServing }) => {
      return order.isEmpty || !isServing() || names().length === 0;
    });
  }

  /** What was found to wait has been taken, but for what needs a free slot: a claim for the buffer would bring nothing. */
  get isDry(): boolean {
    return this.#options.kinds.every(({ order, names, isServing }) => {
      return !order.wants(forBuffer) || !isServing() || names().length === 0;
    });
  }

  /** Whether jobs for the slots of this kind may wait. */
  wantsFor(kind: LaneKind): boolean {
    const of = this.#options.kinds.find((known) => known.kind === kind);
    return of?.order.wants(forSlots) === true && of.names().length > 0;
  }

  /** Whether a claim made now may bring something. */
  get wants(): boolean {
    const { isClosed, lone, kinds } = this.#options;
    if (isClosed()) return false;
    const alone = lone();
    if (alone !== null) return alone === 'claim';
    return kinds.some(({ order, room, names }) => {
      const fits = room();
      return fits !== null && order.wants(fits) && names().length > 0;
    });
  }

  /**
   * The claim to make now; null: none. `withResults`: results go along, which may have released what follows, so it is
   * asked again where nothing was known to wait.
   */
  next(withResults: boolean): PlannedClaim | null {
    if (this.#options.isClosed()) return null;
    const alone = this.#options.lone();
    if (alone === 'wait') return null;
    this.#woken = new Set();
    if (alone === 'claim') return this.#loneClaim();
    const rooms = this.#options.kinds.flatMap((of) => {
      const room = of.room();
      const names = room === null ? [] : of.names();
      if (room === null || names.length === 0) return [];
      if (!of.order.wants(room)) {
        if (!withResults) return [];
        of.order.open(null);
      }
      return [{ of, room, names }];
    });
    const parts = rooms.flatMap(({ of, room, names }) =>
      of.order.split(room, Math.floor(mostParts / rooms.length)).map((part) => ({ of, part, names })),
    );
    if (parts.length === 0) return null;
    return { takes: parts.map(({ part, names }) => ({ ...part, names })), alone: false, parts };
  }

  /**
   * All room there is, in which nothing is known to wait: what stands with a hub until something comes. No takes: there is
   * none, or nothing may come.
   */
  standing(): PlannedClaim {
    const { isClosed, lone, kinds } = this.#options;
    const parts: PlannedPart[] = [];
    if (!isClosed() && lone() === null) {
      for (const of of kinds) {
        const room = of.room();
        const names = room === null ? [] : of.names();
        if (room === null || names.length === 0 || of.order.queues.length === 0) continue;
        parts.push({ of, part: { queues: [...of.order.queues], ...room }, names });
      }
    }
    return { takes: parts.map(({ part, names }) => ({ ...part, names })), alone: false, parts };
  }

  /** Jobs came that were not asked for at that moment; they count in the shares. */
  noteGiven(jobs: readonly ClaimedJob[]): void {
    for (const { kind, order } of this.#options.kinds)
      order.noteGiven(jobs.filter(({ name }) => this.#options.kindOf(name) === kind));
  }

  /** Storage has answered. */
  learn(claim: PlannedClaim, jobs: readonly ClaimedJob[]): void {
    for (const { of, part } of claim.parts) {
      of.order.learn(part, claim.parts.length === 1 ? jobs : this.#gotBy(of, part, jobs));
    }
    const woken = this.#woken;
    this.#woken = new Set();
    if (woken === null || woken.size > 0) this.#open(woken === null ? null : [...woken]);
  }

  /** Jobs may have come; null: into any queue. */
  wake(queues: readonly string[] | null): void {
    if (queues === null) this.#woken = null;
    else for (const queue of queues) this.#woken?.add(queue);
    this.#open(queues);
  }

  /** What a look at the next due job asks for. */
  peek(): Take[] {
    const serving = this.#options.kinds.filter(({ order, isServing, names }) => {
      return isServing() && order.queues.length > 0 && names().length > 0;
    });
    return serving.map(({ order, names }) => ({ queues: order.queues, names: names(), limit: 1, start: 1 }));
  }

  #open(queues: readonly string[] | null): void {
    for (const { order } of this.#options.kinds) order.open(queues);
  }

  #loneClaim(): PlannedClaim | null {
    const serving = this.peek();
    const queues = [...new Set(serving.flatMap((take) => take.queues))];
    const names = [...new Set(serving.flatMap((take) => take.names))];
    if (queues.length === 0) return null;
    return { takes: [{ queues, names, limit: 1, start: 1 }], alone: true, parts: [] };
  }

  #gotBy({ kind }: KindOfSlots, { queues }: QueuePart, jobs: readonly ClaimedJob[]): ClaimedJob[] {
    return jobs.filter(({ name, queue }) => this.#options.kindOf(name) === kind && queues.includes(queue));
  }
}
