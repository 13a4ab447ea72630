import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import { ranks } from './line.js';
import { merge } from './merge.js';
import * as sql from './queries/claim.js';

/** A place in the order of a claim within one queue. */
export interface Place {
  readonly rank: number;
  readonly dueAt: number;
  /** In hexadecimal digits. */
  readonly id: string;
}

export interface Candidate extends Place {
  readonly row: number;
}

/** Where a claim looks, and how many jobs it can take. */
export interface Search {
  readonly line: number;
  readonly nowMs: number;
  readonly limit: number;
}

/** The first due jobs of several kinds, in claim order. */
export function mergedCandidates(db: Connection, kinds: readonly Kind[], search: Search): Candidate[] {
  const merged: Candidate[] = [];
  for (const candidate of dueOfKinds(db, kinds, search)) {
    if (merged.length === search.limit) break;
    merged.push(candidate);
  }
  return merged;
}

/**
 * The due jobs of several kinds, merged in claim order. Each kind is an ordered range of its own, read only as far as it
 * is needed, so what the worker doesn't know is never passed over row by row.
 */
export function dueOfKinds(db: Connection, kinds: readonly Kind[], search: Search): Iterable<Candidate> {
  const step = stepOf(search.limit, kinds.length);
  const dueOfKind = function* (kind: Kind): Generator<Candidate> {
    for (const rank of ranks(db, kind, search.line)) yield* dueOfRank(db, kind, { ...search, rank, step });
  };
  return merge(kinds.map(dueOfKind), inClaimOrder);
}

/** Enough for an even mix; a source that has more of the first jobs is read again. */
export const stepOf = (limit: number, sources: number): number =>
  Math.min(limit, Math.ceil((1.25 * limit) / sources) + 4);

/** The due jobs of a kind in one line and rank, read `step` at a time. */
export function* dueOfRank(
  db: Connection,
  kind: Kind,
  range: { readonly line: number; readonly rank: number; readonly nowMs: number; readonly step: number },
): Generator<Candidate> {
  const { line, rank, nowMs, step } = range;
  let dueAt = Number.MIN_SAFE_INTEGER;
  let id = '';
  for (;;) {
    const place = [kind.queueId, kind.id, line, rank, nowMs, dueAt, Buffer.from(id, 'hex'), step] as const;
    const rows = db.all<Omit<Candidate, 'rank'>>(sql.candidates, ...place);
    for (const row of rows) yield { ...row, rank };
    const last = rows.at(-1);
    if (last === undefined || rows.length < step) return;
    dueAt = last.dueAt;
    id = last.id;
  }
}

export function inClaimOrder(a: Place, b: Place): number {
  return a.rank - b.rank || a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1);
}
