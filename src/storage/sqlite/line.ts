import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import * as claims from './queries/claim.js';
import * as kinds from './queries/kinds.js';

const belowEveryRank = -1_000;

/** The queues of a list that exist and are not paused, in its order, each once. */
export function openQueues(db: Connection, queues: readonly string[]): number[] {
  const paused = db.values<number>(kinds.pausedQueueIds);
  const ids = [...new Set(queues)].map((queue) => db.kinds.queueId(queue));
  return ids.filter((id) => id !== undefined).filter((id) => !paused.includes(id));
}

/** The numbers of the kinds of a queue that have waiting jobs: one seek each, however many jobs there are. */
export function* liveKindIds(db: Connection, queue: number): Generator<number> {
  let id = db.value<number>(claims.nextLiveKind, queue, 0);
  while (id !== undefined) {
    yield id;
    id = db.value<number>(claims.nextLiveKind, queue, id);
  }
}

/** What a worker can run. */
export interface Abilities {
  readonly names: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
}

/**
 * The kinds of a queue that the worker can run and that may have waiting jobs. Where more kinds wait that it can't than it
 * knows names, its own are looked up by name instead: the cost is that of the shorter list.
 */
export function liveKinds(db: Connection, queue: number, abilities: Abilities): Kind[] {
  const able: Kind[] = [];
  let unable = 0;
  for (const id of liveKindIds(db, queue)) {
    const kind = db.kinds.byId(id);
    if (canRun(abilities, kind)) able.push(kind);
    else unable += 1;
    if (unable > abilities.names.size)
      return db.kinds.named(queue, abilities.names).filter((named) => canRun(abilities, named));
  }
  return able;
}

const canRun = ({ names, labels }: Abilities, { name, requires }: Kind): boolean =>
  names.has(name) && (requires === null || requires.every((label) => labels.has(label)));

/** The ranks at which a kind has waiting jobs, due or not, the first to be served first. */
export function* ranks(db: Connection, kind: Kind, line: number): Generator<number> {
  let rank: number | undefined = belowEveryRank;
  for (;;) {
    rank = db.value<number>(claims.nextRank, kind.queueId, kind.id, line, rank);
    if (rank === undefined) return;
    yield rank;
  }
}

/** Ms until the first job of a kind falls due; null where none waits. */
export function dueIn(db: Connection, kind: Kind, line: number, nowMs: number): number | null {
  let least: number | null = null;
  for (const rank of ranks(db, kind, line)) {
    const dueAt = db.value<number>(claims.firstDue, kind.queueId, kind.id, line, rank);
    if (dueAt === undefined) continue;
    if (dueAt <= nowMs) return 0;
    least = Math.min(least ?? Infinity, dueAt - nowMs);
  }
  return least;
}
