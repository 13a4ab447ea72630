/*
 * Who gets work next, of workers that ask for the same. Those with the largest free share first, ties at random; a pass
 * asks for a few jobs each, so that ten jobs go to ten workers and not to one; the next pass asks for twice as many, so
 * that a burst takes few claims. Slots that could start a job at once go before buffers. A worker on standby gets work
 * only when no active one has room, and never into its buffer.
 */

/** A worker with room for the work in question. */
export interface PlacementCandidate {
  /** Jobs that it could start now. */
  readonly slots: number;
  /** Slots it has in all, at least 1. */
  readonly width: number;
  /** Jobs that it takes beyond its free slots. */
  readonly buffer: number;
  readonly isStandby: boolean;
}

export interface PlacementStep<Candidate> {
  readonly candidate: Candidate;
  /** Jobs to ask for, at least 1. */
  readonly limit: number;
  /** How many of them start at once: all, or none. */
  readonly start: number;
}

/** One pass, in the order to go by; empty: nobody has room. `most`: jobs for each. */
export function placementPass<Candidate extends PlacementCandidate>(
  candidates: readonly Candidate[],
  most: number,
  random: () => number,
): PlacementStep<Candidate>[] {
  const active = candidates.filter(({ isStandby }) => !isStandby);
  const free = active.filter(({ slots }) => slots > 0);
  if (free.length > 0) return startSteps(free, most, random);
  const buffering = active.filter(({ buffer }) => buffer > 0);
  if (buffering.length > 0) {
    return byShare(buffering, ({ buffer, width }) => buffer / width, random).map((candidate) => ({
      candidate,
      limit: Math.min(candidate.buffer, most),
      start: 0,
    }));
  }
  return startSteps(
    candidates.filter(({ isStandby, slots }) => isStandby && slots > 0),
    most,
    random,
  );
}

function startSteps<Candidate extends PlacementCandidate>(
  candidates: readonly Candidate[],
  most: number,
  random: () => number,
): PlacementStep<Candidate>[] {
  return byShare(candidates, ({ slots, width }) => slots / width, random).map((candidate) => {
    const limit = Math.min(candidate.slots, most);
    return { candidate, limit, start: limit };
  });
}

function byShare<Candidate>(
  candidates: readonly Candidate[],
  share: (candidate: Candidate) => number,
  random: () => number,
): Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, share: share(candidate), tie: random() }))
    .sort((a, b) => b.share - a.share || a.tie - b.tie)
    .map(({ candidate }) => candidate);
}
