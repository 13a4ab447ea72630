import type { LaneKind } from '../../core/lane-kind.js';
import { type SlotCount, slotOverruns } from '../../core/slot-overrun.js';
import type { LaneGroup } from '../lanes/lane-group.js';
import { monotonicMs } from '../monotonic.js';
import type { Runner } from '../runner.js';

export interface SlotWatchOptions {
  readonly count: () => readonly SlotCount[];
  /**
   * What begins and ends in a lane is seen there and here a moment apart, or as long as storage takes for what is written
   * in between: only what lasts longer is an overrun.
   */
  readonly lastingMs: number;
  readonly now?: () => number;
}

/** Attempts as the runner counts them, beside what the lanes say of themselves. */
export function countSlots(
  { inline, width, attempts }: Pick<Runner, 'inline' | 'width' | 'attempts'>,
  lanes: readonly LaneGroup[],
): SlotCount[] {
  const running = [...attempts];
  return [
    { kind: 'inline', running: inline, slots: width },
    ...lanes.map((group) => ({
      kind: group.kind,
      running: running.filter(({ definition }) => definition.lane === group.kind).length,
      slots: group.snapshots().filter(({ job }) => job !== null).length,
    })),
  ];
}

/** Watches in production that what runs fits into the slots that are there. */
export class SlotWatch {
  readonly #options: SlotWatchOptions;
  readonly #since = new Map<LaneKind, number>();

  constructor(options: SlotWatchOptions) {
    this.#options = options;
  }

  /** Called every second; what is wrong, in words, null: nothing. */
  look(): string | null {
    const { count, lastingMs, now = monotonicMs } = this.#options;
    const overruns = slotOverruns(count());
    const kinds = new Set(overruns.map(({ kind }) => kind));
    for (const kind of this.#since.keys()) if (!kinds.has(kind)) this.#since.delete(kind);
    for (const kind of kinds) if (!this.#since.has(kind)) this.#since.set(kind, now());
    const lasting = overruns.filter(({ kind }) => now() - (this.#since.get(kind) ?? now()) >= lastingMs);
    return lasting.length === 0 ? null : lasting.map(({ sentence }) => sentence).join('; ');
  }
}
