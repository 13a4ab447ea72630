/*
 * Why a worker takes no more jobs. Several may want that at once; the strongest speaks for all: its deadline counts, and
 * what the log says is its reason. Only signals, and a program that stops its own worker, have a deadline: every other
 * drain ends with the jobs' own timeouts, so that a recycle never interrupts work.
 */

/** The strongest first. */
export const drainReasons = [
  'second-signal',
  'signal',
  'stop',
  'crash',
  'recycle-asked',
  'lanes-quarantined',
  'memory',
  'pool-shrink',
  'recycle-jobs',
  'operator-drain',
] as const;

export type DrainReason = (typeof drainReasons)[number];

export interface Drain {
  readonly reason: DrainReason;
  /** Who wants it: `SIGTERM`, `operator ada@host`, `recycler`. One owner has one drain. */
  readonly owner: string;
  /** When handlers are aborted, monotonic ms; null: they end by their own timeouts. */
  readonly deadlineMs: number | null;
}

/** Whether the worker ends once its work is done; an operator's drain only waits for `activate`. */
export function endsWorker({ reason }: Drain): boolean {
  return reason !== 'operator-drain';
}

/** Whether an end by it is a recycle: a process that its supervisor starts again at once. */
export function isRecycle({ reason }: Drain): boolean {
  return ['recycle-asked', 'lanes-quarantined', 'recycle-jobs', 'memory'].includes(reason);
}

const rankOf = ({ reason }: Drain): number => drainReasons.indexOf(reason);

/** The one that counts; null when nobody wants one. Of equal reasons the nearer deadline. */
export function strongestDrain(drains: Iterable<Drain>): Drain | null {
  let strongest: Drain | null = null;
  for (const drain of drains) {
    if (strongest === null || isStronger(drain, strongest)) strongest = drain;
  }
  return strongest;
}

function isStronger(one: Drain, other: Drain): boolean {
  const byRank = rankOf(one) - rankOf(other);
  return byRank < 0 || (byRank === 0 && endOf(one) < endOf(other));
}

const endOf = ({ deadlineMs }: Drain): number => deadlineMs ?? Number.POSITIVE_INFINITY;

/** The drains after one more was asked for: an owner's newer one takes the place of its older, unless that was stronger. */
export function withDrain(drains: readonly Drain[], drain: Drain): readonly Drain[] {
  const before = drains.find(({ owner }) => owner === drain.owner);
  if (before !== undefined && isStronger(before, drain)) return drains;
  return [...drains.filter(({ owner }) => owner !== drain.owner), drain];
}

export function withoutDrainOf(drains: readonly Drain[], owner: string): readonly Drain[] {
  return drains.filter((drain) => drain.owner !== owner);
}
