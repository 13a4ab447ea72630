/**
 * How many workers an adaptive pool should have: facts in, one decision with its numbers out.
 *
 * The target follows the backlog inside its bounds. Growing is immediate, as far as memory goes; shrinking waits until
 * there has been no backlog for a while, since a worker that starts costs more than one that idles. A pool whose view of the
 * database failed holds what it has.
 */
export interface ScaleFacts {
  /** Due jobs of the queues served that nothing but a slot keeps from running; paused queues count as empty. Null: not known. */
  readonly claimable: number | null;
  /** Jobs that run, on the workers of this pool. */
  readonly running: number;
  /** Workers that take jobs, or are about to. */
  readonly workers: number;
  /** Slots of one worker over all its lanes. */
  readonly lanesPerWorker: number;
  readonly min: number;
  readonly max: number;
  /** How long there has been no backlog, ms. */
  readonly idleForMs: number;
  readonly idleGraceMs: number;
  /** Of the workers, their 95th percentile of resident memory, bytes; null while none is known. */
  readonly workerBytes: number | null;
  /** What may still be taken of the machine or container, bytes; null where it can't be read. */
  readonly availableBytes: number | null;
  readonly headroomBytes: number;
  /** Size by the time to clear the backlog instead of by its length. */
  readonly wait: { readonly targetMs: number; readonly averageMs: number } | null;
}

export type ScaleReason =
  | 'backlog'
  | 'target-wait'
  | 'minimum'
  | 'no-backlog'
  | 'steady'
  | 'idle-grace'
  | 'low-memory'
  | 'backlog-unknown';

export interface ScaleDecision {
  /** Workers to have now, within the bounds. */
  readonly workers: number;
  readonly reason: ScaleReason;
  /** What was wanted before grace and memory had their say. */
  readonly wanted: number;
}

export function decideScale(facts: ScaleFacts): ScaleDecision {
  const { claimable, workers, min, max, idleForMs, idleGraceMs } = facts;
  const bounded = clamp(workers, min, max);
  if (claimable === null) return { workers: bounded, reason: 'backlog-unknown', wanted: bounded };
  const wanted = clamp(demandOf(facts, claimable), min, max);
  if (wanted > workers) return grow(facts, wanted);
  if (wanted < workers) {
    if (workers > max) return { workers: max, reason: 'steady', wanted };
    if (claimable > 0 || idleForMs < idleGraceMs) return { workers, reason: 'idle-grace', wanted };
    return { workers: wanted, reason: 'no-backlog', wanted };
  }
  return { workers, reason: 'steady', wanted };
}

/** Jobs that run keep their worker whatever the time to clear says. */
function demandOf({ running, lanesPerWorker, wait }: ScaleFacts, claimable: number): number {
  const lanes = Math.max(lanesPerWorker, 1);
  if (wait === null) return Math.ceil((claimable + running) / lanes);
  const lanesToClear = (claimable * wait.averageMs) / Math.max(wait.targetMs, 1);
  return Math.max(Math.ceil(lanesToClear / lanes), Math.ceil(running / lanes));
}

function grow(facts: ScaleFacts, wanted: number): ScaleDecision {
  const { workers, min, workerBytes, availableBytes, headroomBytes, wait } = facts;
  const reason = workers < min ? 'minimum' : wait === null ? 'backlog' : 'target-wait';
  if (workerBytes === null || availableBytes === null || workerBytes <= 0)
    return { workers: wanted, reason, wanted };
  const fitting = Math.max(Math.floor((availableBytes - headroomBytes) / workerBytes), 0);
  // The minimum was asked for whatever it costs.
  const allowed = Math.max(Math.min(wanted, workers + fitting), Math.min(min, wanted), workers);
  return allowed < wanted
    ? { workers: allowed, reason: 'low-memory', wanted }
    : { workers: wanted, reason, wanted };
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
