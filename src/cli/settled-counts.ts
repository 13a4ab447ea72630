import type { RunReport } from '../worker/run-report.js';

/** `12 completed, 1 failed, 0 buried, 0 put back`, with the rare ones only where there are any. */
export function countsText(counts: RunReport): string {
  const rare: [number, string][] = [
    [counts.cancelled, 'cancelled'],
    [counts.snoozed, 'snoozed'],
    [counts.died, 'died with their lane'],
    [counts.leaseLost, 'lost their lease'],
  ];
  const parts = [
    `${counts.completed} completed`,
    `${counts.failed} failed`,
    `${counts.buried} buried`,
    `${counts.putBack} put back`,
    ...rare.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`),
  ];
  return parts.join(', ');
}
