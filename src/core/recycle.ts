/*
 * When a worker makes room for a fresh process. A default threshold holds only once the process is 10 minutes old, so
 * that a process which grows past it while it starts up does not restart for ever; one that was set holds at once.
 */

/** A limit, and whether somebody set it. */
export interface Threshold {
  /** 0: never. */
  readonly value: number;
  readonly isExplicit: boolean;
}

export interface RecycleRules {
  /** Ended attempts; a put-back is none. */
  readonly jobs: Threshold;
  /** Resident set, bytes. */
  readonly memory: Threshold;
}

export interface RecycleFacts {
  readonly jobsDone: number;
  readonly rssBytes: number;
  readonly ageMs: number;
  /** Lanes that only a fresh process may cure, in words; null: none. */
  readonly lostLanes: string | null;
}

export interface RecycleDecision {
  readonly reason: 'lanes-quarantined' | 'recycle-jobs' | 'memory';
  /** `jobs_done=200 reached 200` */
  readonly text: string;
}

/** Age from which defaults count. */
export const recycleMinAgeMs = 10 * 60_000;

/** Null: goes on. Lanes go before memory and that before the count, as among drains. */
export function decideRecycle(rules: RecycleRules, facts: RecycleFacts): RecycleDecision | null {
  const holds = ({ value, isExplicit }: Threshold): boolean =>
    value > 0 && (isExplicit || facts.ageMs >= recycleMinAgeMs);
  if (facts.lostLanes !== null) return { reason: 'lanes-quarantined', text: facts.lostLanes };
  const { jobs, memory } = rules;
  if (holds(memory) && facts.rssBytes >= memory.value) {
    return {
      reason: 'memory',
      text: `memory=${megabytes(facts.rssBytes)} reached ${megabytes(memory.value)}`,
    };
  }
  if (holds(jobs) && facts.jobsDone >= jobs.value) {
    return { reason: 'recycle-jobs', text: `jobs_done=${facts.jobsDone} reached ${jobs.value}` };
  }
  return null;
}

/** How many of so many live workers of one queue list may be away for a recycle at once: a quarter, at least one. */
export function recycleTurns(liveWorkers: number): number {
  return Math.max(1, Math.floor(liveWorkers / 4));
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)}MB`;
