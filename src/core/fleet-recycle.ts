/*
 * Renews a fleet worker by worker, from what the registry shows. Each member goes through
 *
 *   waiting ──there is room──▶ asked ──said goodbye, or another incarnation has come──▶ away ──it is RUNNING──▶ back
 *      │                         │ same incarnation for `drainWithinMs`                    │ for `returnWithinMs`
 *      └──ended without us──▶ left                                                         │
 *                                └──▶ the whole recycle stops ◀─────────────────────────────┘
 *
 * Never more than `mostAway` members are asked or away at once. What stops it is one member: whoever could not come back
 * may show what all the others would meet. Those that are asked already go on by themselves.
 *
 * It does not promise that the fleet keeps its width: other hands may stop workers too. An empty view of a fleet that was
 * there is no knowledge, and changes nothing.
 */

export interface FleetRecyclePlan {
  /** Members asked or away at once, at least 1. */
  readonly mostAway: number;
  /** From being asked to its end: its turn, and the jobs that it finishes. */
  readonly drainWithinMs: number;
  /** From its end to the RUNNING of the next incarnation. */
  readonly returnWithinMs: number;
}

export type FleetMemberPhase = 'waiting' | 'asked' | 'away' | 'back' | 'left';

export interface FleetMember {
  readonly id: string;
  /** The one to be replaced. */
  readonly incarnation: string;
  readonly phase: FleetMemberPhase;
  /** Since when it is in its phase, by the clock of the caller. */
  readonly sinceMs: number;
}

/** What is seen of one worker. */
export interface SeenWorker {
  readonly id: string;
  readonly incarnation: string;
  readonly state: string;
  readonly alive: boolean;
  readonly adminState: string;
}

export interface FleetStop {
  readonly reason: 'not-back' | 'still-drains';
  readonly id: string;
}

export interface FleetStep {
  readonly members: readonly FleetMember[];
  /** To be asked now; they are `asked` in `members` already. */
  readonly ask: readonly string[];
  readonly outcome: 'going' | 'done' | 'stopped';
  /** Why it has stopped; null while it has not. */
  readonly stop: FleetStop | null;
}

/** How many of `workers` a share (`25%`) or a count (`3`) is: rounded down, at least one. */
export function mostAwayOf(workers: number, unavailable: { readonly share: number } | number): number {
  const wanted =
    typeof unavailable === 'number' ? unavailable : Math.floor(workers * unavailable.share + 1e-9);
  return Math.max(1, wanted);
}

/** The next step, from what is seen now. */
export function stepFleetRecycle(
  plan: FleetRecyclePlan,
  before: readonly FleetMember[],
  seen: readonly SeenWorker[],
  nowMs: number,
): FleetStep {
  if (seen.length === 0 && before.length > 0)
    return { members: before, ask: [], outcome: 'going', stop: null };
  const byId = new Map(seen.map((worker) => [worker.id, worker]));
  const looked = before.map((member) => lookAt(member, byId.get(member.id), nowMs));
  const stop = firstStop(plan, looked, nowMs);
  if (stop !== null) return { members: looked, ask: [], outcome: 'stopped', stop };
  const away = looked.filter(({ phase }) => phase === 'asked' || phase === 'away').length;
  const ask = looked
    .filter(({ phase }) => phase === 'waiting')
    .slice(0, Math.max(plan.mostAway - away, 0))
    .map(({ id }) => id);
  const members = looked.map((member) =>
    ask.includes(member.id) ? inPhase(member, 'asked', nowMs) : member,
  );
  const isDone = members.every(({ phase }) => phase === 'back' || phase === 'left');
  return { members, ask, outcome: isDone ? 'done' : 'going', stop: null };
}

function lookAt(member: FleetMember, worker: SeenWorker | undefined, nowMs: number): FleetMember {
  if (member.phase === 'back' || member.phase === 'left') return member;
  const isNext = worker !== undefined && worker.incarnation !== member.incarnation;
  if (isNext && worker.alive && isInPlace(worker)) return inPhase(member, 'back', nowMs);
  if (worker?.alive === true && !isNext) return member;
  if (member.phase !== 'waiting') return inPhase(member, 'away', nowMs);
  // It went without being asked. One that is just coming back is met again at the next look.
  return isNext && worker.alive ? member : inPhase(member, 'left', nowMs);
}

/** It would take jobs, or only an operator keeps it from that. */
function isInPlace({ state, adminState }: SeenWorker): boolean {
  return state === 'RUNNING' || (state === 'DRAINING' && adminState === 'drain');
}

function inPhase(member: FleetMember, phase: FleetMemberPhase, nowMs: number): FleetMember {
  return member.phase === phase ? member : { ...member, phase, sinceMs: nowMs };
}

function firstStop(
  { drainWithinMs, returnWithinMs }: FleetRecyclePlan,
  members: readonly FleetMember[],
  nowMs: number,
): FleetStop | null {
  const lost = members.find(({ phase, sinceMs }) => phase === 'away' && nowMs - sinceMs >= returnWithinMs);
  if (lost !== undefined) return { reason: 'not-back', id: lost.id };
  const late = members.find(({ phase, sinceMs }) => phase === 'asked' && nowMs - sinceMs >= drainWithinMs);
  return late === undefined ? null : { reason: 'still-drains', id: late.id };
}
