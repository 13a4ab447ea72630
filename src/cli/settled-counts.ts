import type { Worker } from '../worker/worker.js';

/** What a worker's attempts came to. `failed` ones are due again later; `putBack` ones were not charged. */
export interface SettledCountsDocument {
  readonly completed: number;
  readonly failed: number;
  readonly buried: number;
  readonly cancelled: number;
  readonly snoozed: number;
  readonly putBack: number;
  /** Results that were refused, since the job had been taken from this worker. */
  readonly leaseLost: number;
}

export function settledCounts({ counts }: Worker): SettledCountsDocument {
  return {
    completed: counts.of('completed'),
    failed: counts.of('retry'),
    buried: counts.of('buried'),
    cancelled: counts.of('cancelled'),
    snoozed: counts.of('snoozed'),
    putBack: counts.of('put-back'),
    leaseLost: counts.of('lease-lost'),
  };
}

/** `12 completed, 1 failed, 0 buried, 0 put back`, with the rare ones only where there are any. */
export function countsText(counts: SettledCountsDocument): string {
  const rare: [number, string][] = [
    [counts.cancelled, 'cancelled'],
    [counts.snoozed, 'snoozed'],
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
