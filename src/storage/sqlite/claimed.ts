import { hexToUuid } from '../../internal/uuid.js';
import type { ClaimedJob, LeaseToken, Take } from '../claimed-job.js';
import { unbounded } from '../job-limit.js';
import type { Connection } from './connection.js';
import { ownLine } from './line-book.js';
import { payloadOf } from './payloads.js';
import type { ClaimTuple, LinedTuple } from './queries/claim.js';

/** What a claim answers of a job, given what its statement returned. */
export function claimedJob(
  db: Connection,
  lease: { readonly token: LeaseToken; readonly started: boolean },
  tuple: ClaimTuple,
): ClaimedJob {
  const [
    id,
    kindId,
    rank,
    dueAt,
    attempts,
    maxAttempts,
    deaths,
    lapses,
    ,
    createdAt,
    ,
    version,
    payload,
    errors,
  ] = tuple;
  const kind = db.kinds.byId(kindId);
  return {
    id: hexToUuid(id),
    token: lease.token,
    name: kind.name,
    queue: kind.queue,
    payload: payloadOf(db, id, payload),
    version,
    priority: 0 - rank,
    attempts,
    maxAttempts,
    deaths,
    lapses,
    started: lease.started,
    errors,
    createdAtMs: createdAt,
    dueAtMs: dueAt,
    limit: unbounded.limit,
    cost: unbounded.cost,
    requires: unbounded.requires,
  };
}

const startedAt = 8;
const lineAt = 14;
const rowAt = 15;

export function claimedLinedJob(db: Connection, token: LeaseToken, tuple: LinedTuple): ClaimedJob {
  const { limit, cost, requires } = db.lines.byId(ownLine(tuple[lineAt]));
  const lease = { token, started: tuple[startedAt] === 1 };
  return { ...claimedJob(db, lease, tuple as unknown as ClaimTuple), limit, cost, requires };
}

export const rowOf = (tuple: LinedTuple): number => tuple[rowAt];

export function inClaimOrder(a: ClaimTuple | LinedTuple, b: ClaimTuple | LinedTuple): number {
  return a[2] - b[2] || a[3] - b[3] || (a[0] < b[0] ? -1 : 1);
}

/** Take by take, queue by queue. */
export function inTakeOrder(
  db: Connection,
  takes: readonly Take[],
): (a: LinedTuple, b: LinedTuple) => number {
  const placeOf = (tuple: LinedTuple): readonly [take: number, queue: number] => {
    const { queue, name } = db.kinds.byId(tuple[1]);
    const take = takes.findIndex(({ queues, names }) => queues.includes(queue) && names.includes(name));
    return [take, takes[take]?.queues.indexOf(queue) ?? -1];
  };
  return (a, b) => {
    const [placeA, placeB] = [placeOf(a), placeOf(b)];
    return placeA[0] - placeB[0] || placeA[1] - placeB[1] || inClaimOrder(a, b);
  };
}
