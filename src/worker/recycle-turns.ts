/** The turns of workers that go away to be replaced: rows like those of duties, held under the id of the worker. */
import { recycleTurns } from '../core/recycle.js';
import { sha256Hex } from '../internal/hash.js';
import type { Storage } from '../storage/storage.js';

/** Long enough for jobs to end; extended while the worker drains. */
export const turnMs = 5 * 60_000;
/** After which the turn of a worker that never came back is free. */
export const absentMs = 30_000;

export interface TurnHolder {
  readonly workerId: string;
  readonly queues: readonly string[];
}

/** Takes a turn of those that there are for workers of this queue list, or extends the one it has. `turn` null: all are taken. */
export async function takeTurn(
  storage: Pick<Storage, 'workers' | 'takeDuty'>,
  holder: TurnHolder & {
    /** Within which a worker must have been heard to count as alive. */
    readonly ttlMs: number;
  },
  ms: number,
): Promise<{ turn: string | null; turns: number }> {
  const { workerId, queues, ttlMs } = holder;
  const list = queues.join(',');
  const live = (await storage.workers()).filter(
    (worker) => !worker.gone && worker.silentForMs < ttlMs && worker.queues.join(',') === list,
  );
  const turns = turnNames(queues, recycleTurns(live.length));
  for (const turn of turns) {
    if (await storage.takeDuty(turn, workerId, ms)) return { turn, turns: turns.length };
  }
  return { turn: null, turns: turns.length };
}

/** The worker is back: others may go. */
export async function returnTurns(
  storage: Pick<Storage, 'workers' | 'releaseDuty'>,
  { workerId, queues }: TurnHolder,
): Promise<void> {
  const live = (await storage.workers()).length;
  for (const turn of turnNames(queues, recycleTurns(live))) await storage.releaseDuty(turn, workerId);
}

function turnNames(queues: readonly string[], count: number): string[] {
  const list = sha256Hex(queues.join(',')).slice(0, 16);
  return Array.from({ length: count }, (_, index) => `recycle:${list}:${index + 1}`);
}

export interface TurnAnswer {
  readonly isGranted: boolean;
  /** How many there are for workers of its kind; null: that is not known here. */
  readonly turns: number | null;
}

/** Where a worker asks for its turn. */
export interface RecycleTurns {
  /** Takes one, or extends the one it has. */
  take(): Promise<TurnAnswer>;
  /** The worker ends: whoever comes in its place has a while to do so. */
  leave(): Promise<void>;
  /** It is there again, and others may go. */
  giveBack(): Promise<void>;
}

/** Turns as rows of the database, taken by the worker itself. */
export class StorageTurns implements RecycleTurns {
  readonly #storage: Pick<Storage, 'workers' | 'takeDuty' | 'releaseDuty'>;
  readonly #holder: TurnHolder & { readonly ttlMs: number };
  #turn: string | null = null;

  constructor(
    storage: Pick<Storage, 'workers' | 'takeDuty' | 'releaseDuty'>,
    holder: TurnHolder & { readonly ttlMs: number },
  ) {
    this.#storage = storage;
    this.#holder = holder;
  }

  async take(): Promise<TurnAnswer> {
    if (this.#turn !== null) {
      await this.#storage.takeDuty(this.#turn, this.#holder.workerId, turnMs);
      return { isGranted: true, turns: null };
    }
    const { turn, turns } = await takeTurn(this.#storage, this.#holder, turnMs);
    this.#turn = turn;
    return { isGranted: turn !== null, turns };
  }

  async leave(): Promise<void> {
    if (this.#turn !== null) await this.#storage.takeDuty(this.#turn, this.#holder.workerId, absentMs);
  }

  giveBack(): Promise<void> {
    return returnTurns(this.#storage, this.#holder);
  }
}
