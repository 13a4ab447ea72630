/** Workers that ask for the same: these queues, in this order, these names, with these labels. */
import type { PlacementCandidate } from '../../core/placement-order.js';
import type { Take } from '../../storage/claimed-job.js';
import type { LinkedWorker } from '../link/linked-worker.js';

export interface GroupTerms {
  readonly queues: readonly string[];
  readonly names: readonly string[];
  readonly labels: readonly string[];
  /** They ask for one job that runs with nothing beside it. */
  readonly alone: boolean;
}

export interface GroupCandidate extends PlacementCandidate {
  readonly worker: LinkedWorker;
}

export class Group {
  readonly key: string;
  readonly terms: GroupTerms;
  readonly members = new Set<LinkedWorker>();
  isRunning = false;
  /** Something came while it ran, or before it could. */
  isDirty = false;
  /** Only the poll made it dirty. */
  isSweep = false;
  /** Jobs, so far. */
  placed = 0;
  failures = 0;
  pollTimer: NodeJS.Timeout | null = null;
  pollAtMs = 0;
  /** Grows while nothing comes, where the engine pushes nothing. */
  adaptivePollMs = 0;
  lookTimer: NodeJS.Timeout | null = null;
  lookedAtMs = Number.NEGATIVE_INFINITY;
  /** When its last member left, or it was made. */
  emptySinceMs = performance.now();
  loneAtMs = Number.NEGATIVE_INFINITY;

  constructor(key: string, terms: GroupTerms) {
    this.key = key;
    this.terms = terms;
  }

  /** The room of this worker that is of this group's kind; null: none now. */
  takeOf(worker: LinkedWorker): Take | null {
    const { takes, alone } = worker.room.open;
    if (alone !== this.terms.alone) return null;
    return takes.find((take) => groupKey(worker, take, alone) === this.key) ?? null;
  }

  /** Those with room that nothing is being claimed for; who has none any more is let go. */
  candidates(): GroupCandidate[] {
    const found: GroupCandidate[] = [];
    for (const worker of this.members) {
      const take = this.takeOf(worker);
      if (take === null) this.leave(worker);
      else if (worker.mayTake && !worker.isClaiming) found.push(candidateOf(worker, take));
    }
    return found;
  }

  leave(worker: LinkedWorker): void {
    if (this.members.delete(worker) && this.members.size === 0) this.emptySinceMs = performance.now();
  }

  clearPoll(): void {
    if (this.pollTimer !== null) clearTimeout(this.pollTimer);
    this.pollTimer = null;
  }

  close(): void {
    this.clearPoll();
    if (this.lookTimer !== null) clearTimeout(this.lookTimer);
    this.lookTimer = null;
  }
}

function candidateOf(worker: LinkedWorker, { start, limit }: Take): GroupCandidate {
  return {
    worker,
    slots: start,
    width: Math.max(worker.report.concurrency, start, 1),
    buffer: limit - start,
    isStandby: worker.orders.adminState === 'standby',
  };
}

const keys = new WeakMap<Take, string>();

export function groupKey(worker: LinkedWorker, take: Take, alone: boolean): string {
  let key = keys.get(take);
  if (key === undefined) {
    key = JSON.stringify([alone, take.queues, take.names, worker.report.labels]);
    keys.set(take, key);
  }
  return key;
}
