import type { LaneKind } from '../../core/lane-kind.js';
import type { Lane, LaneSnapshot, LaneState } from './lane.js';

/** The lanes of one kind in a worker, as one thing with free places. */
export class LaneGroup {
  readonly kind: LaneKind;
  readonly #lanes: readonly Lane[];
  /** Given out and not yet back: one that is still idle may belong to somebody already. */
  readonly #taken = new Set<Lane>();

  constructor(kind: LaneKind, lanes: readonly Lane[]) {
    this.kind = kind;
    this.#lanes = lanes;
  }

  /** Lanes that take work: idle or busy now. */
  get size(): number {
    return this.#count('idle') + this.#count('busy');
  }

  get free(): number {
    return this.#idle().length;
  }

  /** Lanes of which it will be known in a moment whether they take work. */
  get starting(): number {
    return this.#count('starting');
  }

  /** An idle lane, the caller's until `release`; null when there is none. */
  take(): Lane | null {
    const lane = this.#idle()[0] ?? null;
    if (lane !== null) this.#taken.add(lane);
    return lane;
  }

  release(lane: Lane): void {
    this.#taken.delete(lane);
  }

  /** Side by side; resolves once each is idle or quarantined. */
  async start(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.start()));
  }

  async stop(options: { readonly deadlineMs: number }): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.stop(options)));
  }

  get lanes(): readonly Lane[] {
    return this.#lanes;
  }

  snapshots(): LaneSnapshot[] {
    return this.#lanes.map((lane) => lane.snapshot());
  }

  #idle(): Lane[] {
    return this.#lanes.filter((lane) => lane.state === 'idle' && !this.#taken.has(lane));
  }

  #count(state: LaneState): number {
    return this.#lanes.filter((lane) => lane.state === state).length;
  }
}
