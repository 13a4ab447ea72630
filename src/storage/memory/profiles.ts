import type { HandlerProfile, ProfileNote } from '../handler-profile.js';

const minuteMs = 60_000;
const dayMs = 86_400_000;

interface Bucket {
  count: number;
  totalMs: number;
  maxRssBytes: number | null;
}

/** What attempts took, by handler and minute. */
export class Profiles {
  readonly #handlers = new Map<string, Map<number, Bucket>>();

  note(notes: readonly ProfileNote[], nowMs: number): void {
    const minute = Math.floor(nowMs / minuteMs);
    for (const { name, ...note } of notes) {
      const buckets = this.#handlers.get(name) ?? new Map<number, Bucket>();
      this.#handlers.set(name, buckets);
      buckets.set(minute, sum([buckets.get(minute), note]));
    }
  }

  of(names: readonly string[], windowMs: number, nowMs: number): HandlerProfile[] {
    const first = Math.floor((nowMs - windowMs) / minuteMs);
    return names.flatMap((name) => {
      const buckets = [...(this.#handlers.get(name) ?? [])].filter(([minute]) => minute >= first);
      const { count, totalMs, maxRssBytes } = sum(buckets.map(([, bucket]) => bucket));
      return count === 0 ? [] : [{ name, count, averageMs: totalMs / count, peakRssBytes: maxRssBytes }];
    });
  }

  forget(nowMs: number): void {
    for (const [name, buckets] of this.#handlers) {
      for (const minute of buckets.keys()) {
        if ((minute + 1) * minuteMs <= nowMs - dayMs) buckets.delete(minute);
      }
      if (buckets.size === 0) this.#handlers.delete(name);
    }
  }
}

function sum(buckets: readonly (Bucket | undefined)[]): Bucket {
  const all: Bucket = { count: 0, totalMs: 0, maxRssBytes: null };
  for (const bucket of buckets) {
    all.count += bucket?.count ?? 0;
    all.totalMs += bucket?.totalMs ?? 0;
    const { maxRssBytes = null } = bucket ?? {};
    if (maxRssBytes !== null) all.maxRssBytes = Math.max(all.maxRssBytes ?? 0, maxRssBytes);
  }
  return all;
}
