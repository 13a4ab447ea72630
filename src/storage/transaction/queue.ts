import type { EnqueueOutcome, NewJob } from '../new-job.js';
import type { ControlChange, ControlOutcome, Settlement, SettleOutcome } from '../settlement.js';

/** The queue inside a transaction of the user's: written with it, gone with it, seen by no worker before its commit. */
export interface TransactionQueue {
  /** As `Storage.enqueue`, never repeated by itself. */
  enqueue(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]>;
  /** As `Storage.settle`. */
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /** As the method of `Storage` that has the name of the change. */
  change(change: ControlChange, id: string): Promise<ControlOutcome>;
  /** The name of a job as this transaction sees it, its own ones too; null where there is none. */
  nameOf(id: string): Promise<string | null>;
}

/** The same for transactions whose statements are done when they return. */
export interface SyncTransactionQueue {
  enqueue(jobs: readonly NewJob[]): EnqueueOutcome[];
  settle(settlement: Settlement): SettleOutcome;
  change(change: ControlChange, id: string): ControlOutcome;
  nameOf(id: string): string | null;
}
