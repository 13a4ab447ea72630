import type { SettledKind } from '../worker/settled-counts.js';
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
  return countsDocument((kind) => counts.of(kind));
}

/** From how many attempts ended in each kind of settlement. */
export function countsDocument(of: (kind: SettledKind) => number): SettledCountsDocument {
  return {
    completed: of('completed'),
    failed: of('retry'),
    buried: of('buried'),
    cancelled: of('cancelled'),
    snoozed: of('snoozed'),
    putBack: of('put-back'),
    leaseLost: of('lease-lost'),
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
