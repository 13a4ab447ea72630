import { formatDuration } from '../internal/duration.js';

const hourMs = 3_600_000;

/** A length of time in the units that matter at its size. */
export function spell(ms: number): string {
  const unit =
    ms >= 24 * hourMs ? hourMs : ms >= hourMs ? 60_000 : ms >= 10_000 ? 1000 : ms >= 1000 ? 100 : 1;
  return formatDuration(Math.round(Math.max(ms, 0) / unit) * unit);
}
