import type { Connection } from './connection.js';
import type { Kind } from './kinds.js';
import { ranks } from './line.js';
import { merge } from './merge.js';
import * as sql from './queries/claim.js';

export interface Candidate {
  readonly row: number;
  readonly rank: number;
  readonly dueAt: number;
  readonly id: Buffer;
}

/** Where a claim looks, and how many jobs it can take. */
interface Search {
  readonly line: number;
  readonly nowMs: number;
  readonly limit: number;
}

/**
 * The first due jobs of several kinds, merged in claim order. Each kind is an ordered range of its own, read only as far
 * as it is needed, so what the worker doesn't know is never passed over row by row.
 */
export function mergedCandidates(db: Connection, kinds: readonly Kind[], search: Search): Candidate[] {
  // Enough for an even mix; a kind that has more of the first jobs is read again.
  const step = Math.min(search.limit, Math.ceil((1.25 * search.limit) / kinds.length) + 4);
  const merged: Candidate[] = [];
  for (const candidate of merge(
    kinds.map((kind) => dueJobs(db, kind, search, step)),
    inClaimOrder,
  )) {
    if (merged.length === search.limit) break;
    merged.push(candidate);
  }
  return merged;
}

function* dueJobs(db: Connection, kind: Kind, { line, nowMs }: Search, step: number): Generator<Candidate> {
  for (const rank of ranks(db, kind, line)) {
    let dueAt = Number.MIN_SAFE_INTEGER;
    let id = Buffer.alloc(0);
    for (;;) {
      const range = [kind.queueId, kind.id, line, rank, nowMs, dueAt, id, step] as const;
      const rows = db.all<Omit<Candidate, 'rank'>>(sql.candidates, ...range);
      for (const row of rows) yield { ...row, rank };
      const last = rows.at(-1);
      if (last === undefined || rows.length < step) break;
      dueAt = last.dueAt;
      id = last.id as Buffer<ArrayBuffer>;
    }
  }
}

function inClaimOrder(a: Candidate, b: Candidate): number {
  return a.rank - b.rank || a.dueAt - b.dueAt || Buffer.compare(a.id, b.id);
}
