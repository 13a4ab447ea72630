/*
 * What runs fits into the slots that are there. It can not be otherwise, unless a path that was to end a job has stopped
 * doing so: then a job is held that nothing runs any more, and its slot is lost without a word.
 */
import type { LaneKind } from './lane-kind.js';

/** The slots of one kind, as they are this moment. */
export interface SlotCount {
  readonly kind: LaneKind;
  /** Attempts that are counted as running there. */
  readonly running: number;
  /** Inline: its width. Lanes: those that say they have a job. */
  readonly slots: number;
}

export interface SlotOverrun {
  readonly kind: LaneKind;
  readonly running: number;
  readonly slots: number;
  readonly sentence: string;
}

/** The kinds in which more is counted as running than there is anything to run it. */
export function slotOverruns(counts: readonly SlotCount[]): SlotOverrun[] {
  return counts
    .filter(({ running, slots }) => running > slots)
    .map(({ kind, running, slots }) => ({
      kind,
      running,
      slots,
      sentence:
        kind === 'inline'
          ? `${running} jobs are counted as running in ${slots} inline slots`
          : `${running} jobs are counted as running in ${kind} lanes, of which ${slots} have a job`,
    }));
}
