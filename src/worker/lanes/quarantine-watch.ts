import { areLanesLost } from '../../core/lane-steps.js';
import { formatDuration } from '../../internal/duration.js';
import { monotonicMs } from '../monotonic.js';
import type { Lane } from './lane.js';

export interface QuarantineWatchOptions {
  /** Of one kind. */
  readonly lanes: () => readonly Pick<Lane, 'state' | 'wasWell'>[];
  /** @default 30 s */
  readonly lastingMs?: number;
  readonly now?: () => number;
}

/** Lanes that come back within it need no fresh worker: the longest wait between two trials. */
const defaultLastingMs = 30_000;

/** Looks whether so many lanes are lost to quarantine, and for so long, that a fresh worker is the cure that is left. */
export class QuarantineWatch {
  readonly #options: QuarantineWatchOptions;
  #sinceMs: number | null = null;

  constructor(options: QuarantineWatchOptions) {
    this.#options = options;
  }

  /** Called every second; in words, as the log of a recycle tells it; null: they are well enough. */
  look(): string | null {
    const { now = monotonicMs, lastingMs = defaultLastingMs } = this.#options;
    const lanes = this.#options.lanes();
    const states = lanes.map(({ state, wasWell }) => ({ isQuarantined: state === 'quarantined', wasWell }));
    if (!areLanesLost(states)) {
      this.#sinceMs = null;
      return null;
    }
    this.#sinceMs ??= now();
    if (now() - this.#sinceMs < lastingMs) return null;
    const count = states.filter(({ isQuarantined }) => isQuarantined).length;
    return `browser lanes: ${count} of ${lanes.length} quarantined for ${formatDuration(lastingMs)}`;
  }
}
