/**
 * Jobs under which two workers died already run alone, so that a third death proves something. When one is due, a worker
 * lets its own jobs end, takes the one, and runs nothing beside it:
 *
 *   off ──one is due──▶ waiting (a jittered moment, so that one worker of many goes first)
 *       ──▶ emptying (no other claims, the buffer is given back) ──nothing runs──▶ claiming ──▶ running alone ──▶ off
 *                                                                     └──another was faster──▶ off
 */
export type LoneRunState = 'off' | 'waiting' | 'emptying' | 'claiming' | 'running';

export interface LoneRunOptions {
  readonly random: () => number;
  readonly isEmpty: () => boolean;
  readonly returnBuffer: () => void;
  readonly poke: () => void;
}

const maxJitterMs = 1_000;

export class LoneRun {
  readonly #options: LoneRunOptions;
  #state: LoneRunState = 'off';
  #timer: NodeJS.Timeout | null = null;

  constructor(options: LoneRunOptions) {
    this.#options = options;
  }

  get state(): LoneRunState {
    return this.#state;
  }

  /** Ordinary claims are held back. */
  get isExclusive(): boolean {
    return this.#state === 'emptying' || this.#state === 'claiming' || this.#state === 'running';
  }

  /** What waits in the buffer may start: while the worker makes room nothing does, and then the one job itself is there. */
  get mayFill(): boolean {
    return this.#state !== 'emptying' && this.#state !== 'claiming';
  }

  /** The one claim to make now. */
  get wantsClaim(): boolean {
    return this.#state === 'claiming';
  }

  noteDue(): void {
    if (this.#state !== 'off') return;
    this.#state = 'waiting';
    this.#timer = setTimeout(() => {
      this.#state = 'emptying';
      this.#options.returnBuffer();
      this.noteRoom();
    }, this.#options.random() * maxJitterMs);
  }

  /** A slot became free, or a result was acknowledged. */
  noteRoom(): void {
    if (this.#state === 'emptying' && this.#options.isEmpty()) {
      this.#state = 'claiming';
      this.#options.poke();
    } else if (this.#state === 'running' && this.#options.isEmpty()) {
      this.#state = 'off';
      this.#options.poke();
    }
  }

  /** The lone claim was answered. */
  noteClaimed(count: number): void {
    this.#state = count > 0 ? 'running' : 'off';
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#state = 'off';
  }
}
