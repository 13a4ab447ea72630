const steps = [
  { unit: 'd', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'm', ms: 60_000 },
  { unit: 's', ms: 1000 },
] as const;

/** A length of time in one or two units, for people: `340ms`, `4.2s`, `12m`, `3h`, `5d`. */
export function shortDuration(ms: number): string {
  const length = Math.max(Math.round(ms), 0);
  if (length < 1000) return `${length}ms`;
  if (length < 10_000) return `${(Math.floor(length / 100) / 10).toFixed(1)}s`;
  const step = steps.find((candidate) => length >= candidate.ms) ?? steps[3];
  return `${Math.floor(length / step.ms)}${step.unit}`;
}

/** A moment as seen from another, in whole units: `just now`, `12m ago`, `in 3h`. */
export function relativeTime(atMs: number, nowMs: number): string {
  const distance = Math.abs(nowMs - atMs);
  if (distance < 1000) return atMs > nowMs ? 'now' : 'just now';
  const step = steps.find((candidate) => distance >= candidate.ms) ?? steps[3];
  const length = `${Math.floor(distance / step.ms)}${step.unit}`;
  return atMs > nowMs ? `in ${length}` : `${length} ago`;
}
