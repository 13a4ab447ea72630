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

/**
 * The kinds of a queue that the worker knows and that may have waiting jobs. Where more kinds wait that it doesn't know
 * than it knows names, these are looked up by name instead: the cost is that of the shorter list.
 */
export function liveKinds(db: Connection, queue: number, names: ReadonlySet<string>): Kind[] {
  const known: Kind[] = [];
  let unknown = 0;
  for (const id of liveKindIds(db, queue)) {
    const kind = db.kinds.byId(id);
    if (names.has(kind.name)) known.push(kind);
    else unknown += 1;
    if (unknown > names.size) return db.kinds.named(queue, names);
  }
  return known;
}

/** The ranks at which a kind has waiting jobs, due or not, the first to be served first. */
export function* ranks(db: Connection, kind: Kind, line: number): Generator<number> {
  let rank: number | undefined = belowEveryRank;
  for (;;) {
    rank = db.value<number>(claims.nextRank, kind.queueId, kind.id, line, rank);
    if (rank === undefined) return;
    yield rank;
  }
}
