import { drawLifeLimits, idleMostBytes, type LifeLimits, whyRestart } from '../../core/browser-lane-rules.js';
import { monotonicMs } from '../../worker/monotonic.js';
import type { ChromeProcess } from '../chrome/chrome-process.js';
import { measureGroup } from '../chrome/group-members.js';

/** Why a Chrome that answers is replaced by a new one. */
export interface Replacement {
  /** In words: `has run 97 jobs`. */
  readonly why: string;
  /** By its count, age or size; else something went wrong in it. */
  readonly isPlanned: boolean;
}

/** What is reckoned up of one Chrome, from when it was well. */
export class ChromeLife {
  crashes = 0;
  readonly #chrome: ChromeProcess;
  readonly #limits: LifeLimits;
  readonly #sinceMs = monotonicMs();
  /** Memory of it without a job, just after its start. */
  readonly #baseline: Promise<number>;
  #jobs = 0;

  constructor(
    chrome: ChromeProcess,
    options: { readonly random: () => number; readonly drawLimits?: (random: () => number) => LifeLimits },
  ) {
    const { random, drawLimits = drawLifeLimits } = options;
    this.#chrome = chrome;
    this.#limits = drawLimits(random);
    this.#baseline = chrome.pid === null ? Promise.resolve(0) : measure(chrome.pid);
  }

  /** Once a job is over and nothing of it is left. `lastRssBytes`: of the job's last look; null: none. */
  async jobEnded(lastRssBytes: number | null): Promise<Replacement | null> {
    this.#jobs += 1;
    const { crashes } = this;
    const idleBytes = await this.#idleBytes(lastRssBytes);
    const ageMs = monotonicMs() - this.#sinceMs;
    return whyRestart({ jobs: this.#jobs, crashes, ageMs, idleBytes }, this.#limits);
  }

  /** Measured only where resident memory, which counts shared pages often, leaves it open. Null: it is small. */
  async #idleBytes(lastRssBytes: number | null): Promise<{ now: number; atStart: number } | null> {
    const { pid } = this.#chrome;
    if (pid === null || (lastRssBytes ?? 0) <= idleMostBytes) return null;
    return { now: await measure(pid), atStart: await this.#baseline };
  }
}

const measure = async (pid: number): Promise<number> => (await measureGroup(pid)).totalBytes;
