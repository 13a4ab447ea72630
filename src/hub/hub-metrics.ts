/** Numbers of one hub since its start, as plain values; the API turns them into what a monitor reads. */

/** Upper bounds of the buckets, ms. The last one is all that is slower. */
export const latencyBucketsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000] as const;

/** How often something took how long. */
export class LatencyHistogram {
  /** Per bucket, not summed up; one more than there are bounds. */
  readonly counts: number[] = Array.from({ length: latencyBucketsMs.length + 1 }, () => 0);
  sumMs = 0;
  count = 0;

  note(ms: number): void {
    const found = latencyBucketsMs.findIndex((bound) => ms <= bound);
    const index = found < 0 ? latencyBucketsMs.length : found;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sumMs += ms;
    this.count += 1;
  }
}

/** Reasons are words of workers, so only so many are counted apart. */
const mostReasons = 50;
const otherReason = 'other';

/** Counters keyed by a word, with a bound on how many words there are. */
export class CountByReason {
  readonly #counts = new Map<string, number>();

  add(reason: string, count = 1): void {
    const isKnown = this.#counts.has(reason) || this.#counts.size < mostReasons;
    const key = isKnown ? reason : otherReason;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  get entries(): ReadonlyMap<string, number> {
    return this.#counts;
  }
}

export class HubMetrics {
  /** Claims that were made for room that stood. */
  placements = 0;
  /** Of these, the ones that brought nothing. */
  emptyPlacements = 0;
  /** Jobs given to workers, by answer or by push. */
  assignedJobs = 0;
  /** Of these, the ones pushed into room that stood. */
  pushedJobs = 0;
  /** Of the pushed ones, those that only the poll found. */
  sweptJobs = 0;
  settledJobs = 0;
  /** Of the leases that were settled, those that no longer held. */
  lostLeases = 0;
  /** Claims, alone or behind results, as storage answered them. */
  readonly claimMs = new LatencyHistogram();
  readonly settleMs = new LatencyHistogram();
  connections = 0;
  /** Registrations of an incarnation that this hub had known before. */
  reconnects = 0;
  /** Connections that ended, by close code. */
  readonly closes = new CountByReason();
  refusedHandshakes = 0;
  refusedTokens = 0;
  messagesIn = 0;
  messagesOut = 0;
  bytesIn = 0;
  bytesOut = 0;
  badMessages = 0;
  droppedLogLines = 0;
  failedRequests = 0;
  /** Registrations that the reaper of this hub forgot. */
  reaps = 0;
  /** Jobs that came back unrun, by what the worker or this hub said. */
  readonly putBacks = new CountByReason();
  /** Invariants that did not hold, by name. */
  readonly alarms = new CountByReason();
}
