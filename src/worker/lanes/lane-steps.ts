import type { MillraceEvents } from '../../client/events.js';
import type { LaneKind } from '../../core/lane-kind.js';
import type { LaneStep } from '../../core/lane-steps.js';
import type { TypedEvents } from '../../internal/typed-events.js';

/** One step that was taken about a lane; the lane has logged it. */
export interface LaneStepTaken {
  readonly kind: LaneKind;
  /** From 1, within its kind; 0: of no single lane. */
  readonly lane: number;
  readonly step: LaneStep;
  /** False: it did not help, and the next larger one is taken. */
  readonly helped: boolean;
  /** Why it was taken, in words. */
  readonly reason: string;
  /** That it was taken about. */
  readonly jobId: string | null;
  /** How long it took; null where the step is only the beginning of something. */
  readonly tookMs: number | null;
}

/** Counts the steps that a worker has taken about its lanes since its start, and tells of each. */
export class LaneSteps {
  readonly #events: TypedEvents<MillraceEvents>;
  readonly #workerId: string;
  readonly #counts = new Map<LaneStep, number>();

  constructor(options: { readonly events: TypedEvents<MillraceEvents>; readonly workerId: string }) {
    this.#events = options.events;
    this.#workerId = options.workerId;
  }

  /** Those that were taken at all. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  take(taken: LaneStepTaken): void {
    this.#counts.set(taken.step, (this.#counts.get(taken.step) ?? 0) + 1);
    this.#events.emit('lane:step', { workerId: this.#workerId, ...taken });
  }
}
