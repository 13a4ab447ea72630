import type { RescueReport } from '../maintenance/rescuer.js';
import type { SettledCounts, SettledKind } from './settled-counts.js';

/** What the attempts of a run came to. */
export interface RunReport {
  readonly completed: number;
  /** Due again later. */
  readonly failed: number;
  readonly buried: number;
  readonly cancelled: number;
  readonly snoozed: number;
  /** Not run to their end, and not charged. */
  readonly putBack: number;
  /** Ended by the death of their lane; due again later, not charged. */
  readonly died: number;
  /** Results that were refused, since the job had been taken from this process. */
  readonly leaseLost: number;
}

/** What a run with an end came to. */
export interface TickReport extends RunReport {
  /** Leases that were taken back first, from workers that are gone. */
  readonly recovered: RescueReport;
  /** It ended since its time was over, and not since nothing was due. */
  readonly timeIsUp: boolean;
}

export function runReport(counts: SettledCounts): RunReport {
  return reportOf((kind) => counts.of(kind));
}

/** From how many attempts ended in each way. */
export function reportOf(of: (kind: SettledKind) => number): RunReport {
  return {
    completed: of('completed'),
    failed: of('retry'),
    buried: of('buried'),
    cancelled: of('cancelled'),
    snoozed: of('snoozed'),
    putBack: of('put-back'),
    died: of('died'),
    leaseLost: of('lease-lost'),
  };
}
