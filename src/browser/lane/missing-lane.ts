import type { Lane, LaneEnding, LaneSnapshot } from '../../worker/lanes/lane.js';

/** Stands for the browser lanes of a machine without a Chrome: takes nothing, and says why. */
export class MissingLane implements Lane {
  readonly kind = 'browser';
  readonly number = 1;
  readonly #why: string;
  #isStopped = false;

  constructor(why: string) {
    this.#why = why;
  }

  get state(): 'quarantined' | 'stopped' {
    return this.#isStopped ? 'stopped' : 'quarantined';
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  run(): Promise<LaneEnding> {
    return Promise.resolve({ kind: 'refused', reason: this.#why });
  }

  abort(): void {
    // It runs nothing.
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return Promise.resolve();
  }

  snapshot(): LaneSnapshot {
    const { number, kind, state } = this;
    const nothing = { job: null, pid: null, restarts: 0, jobsDone: 0, rssBytes: null };
    return { number, kind, state, ...nothing, note: this.#why };
  }
}
