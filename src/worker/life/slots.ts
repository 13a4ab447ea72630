import type { LaneKind } from '../../core/lane-kind.js';
import type { Buffer } from '../buffer.js';
import type { BufferDepth } from '../buffer-depth.js';
import type { Room } from '../claims/queue-order.js';
import { inlineRoom, laneRoom } from '../claims/rooms.js';
import type { LaneGroup } from '../lanes/lane-group.js';
import { monotonicMs } from '../monotonic.js';
import type { Runner } from '../runner.js';
import type { LifeOptions } from './life-options.js';

export interface SlotsOptions extends Pick<LifeOptions, 'inlineWidth' | 'cap' | 'bounds'> {
  readonly lanes: readonly LaneGroup[];
  readonly runner: Pick<Runner, 'size' | 'free'>;
  readonly buffer: Pick<Buffer, 'size'>;
  readonly depth: Pick<BufferDepth, 'target'>;
  /** Jobs of this kind are asked for now. */
  readonly wantsFor: (kind: LaneKind) => boolean;
  /** More may be taken than can start at once. */
  readonly isBuffering: () => boolean;
}

/** What fits in where, and how many jobs may still be started in this run. */
export class Slots {
  readonly #options: SlotsOptions;
  #starts = 0;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  /** How many jobs may still be started in this run. */
  get startsLeft(): number {
    return (this.#options.bounds.mostJobs ?? Number.POSITIVE_INFINITY) - this.#starts;
  }

  noteStart(): void {
    this.#starts += 1;
  }

  isServing(kind: LaneKind): boolean {
    return (kind === 'inline' ? this.#options.inlineWidth : (this.#groupOf(kind)?.size ?? 0)) > 0;
  }

  /** What fits into the slots of a kind now; the one place that decides it. Lanes go first where a cap is shared. */
  room(kind: LaneKind): Room | null {
    const { cap, runner, buffer, lanes, wantsFor, isBuffering, depth } = this.#options;
    const capped = (cap ?? Number.POSITIVE_INFINITY) - runner.size;
    const left = Math.min(capped, this.startsLeft);
    if (kind !== 'inline') return laneRoom(Math.min(this.#groupOf(kind)?.free ?? 0, left - buffer.size));
    const forLanes = lanes.filter(({ kind: other }) => wantsFor(other));
    const free = Math.min(
      runner.free,
      forLanes.reduce((rest, group) => rest - group.free, left),
    );
    const target = isBuffering() ? depth.target(monotonicMs()) : 0;
    return inlineRoom({ free, buffered: buffer.size, target });
  }

  #groupOf(kind: LaneKind): LaneGroup | undefined {
    return this.#options.lanes.find((group) => group.kind === kind);
  }
}
