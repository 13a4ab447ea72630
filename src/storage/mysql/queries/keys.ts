import type { NewJob } from '../../new-job.js';
import { idempotencyScope, scopeCode } from '../codes.js';
import { hexDigits, hexId, hexText, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** A row of `keys`, as it is to be. */
export interface KeyRow {
  readonly key: string;
  readonly jobId: string;
  readonly scope: number;
  readonly untilMs: number | null;
  readonly inputHash: string | null;
}

/** The keys of a job, in the order in which they are looked at. */
export function keysOf(job: NewJob, nowMs: number): KeyRow[] {
  const keys: KeyRow[] = [];
  const { idempotency, unique } = job;
  if (idempotency !== null) {
    const { key, inputHash } = idempotency;
    keys.push({
      key: idempotencyKeyText(key),
      jobId: job.id,
      scope: idempotencyScope,
      untilMs: null,
      inputHash,
    });
  }
  if (unique !== null) {
    const untilMs = unique.scope === 'period' ? nowMs + unique.periodMs : null;
    keys.push({
      key: uniqueKeyText(unique.key),
      jobId: job.id,
      scope: scopeCode[unique.scope],
      untilMs,
      inputHash: null,
    });
  }
  return keys;
}

export const uniqueKeyText = (key: string): string => `u${key}`;
export const idempotencyKeyText = (key: string): string => `i${key}`;

/**
 * Makes sure that there is a row to lock for each, and locks it: `insert ignore` would take a shared lock on a row that is
 * there, and of two that then want more each would wait for the other. Index: primary.
 */
export function reserveKeys(t: Tables, keys: readonly KeyRow[]): Sql {
  return sql`insert into ${t.keys} (k, job_id, scope, until_ms, input_hash) values ${keys.map(valuesOf)}
    on duplicate key update k = values(k)`;
}

/** Index: primary. */
export function lockKeys(t: Tables, keys: readonly string[]): Sql {
  return sql`select k, job_id, scope, until_ms, input_hash from ${t.keys} force index (primary)
    where k in ${list(keys.map(hexText))} order by k for update`;
}

/** Index: primary. */
export function writeKeys(t: Tables, keys: readonly KeyRow[]): Sql {
  return sql`insert into ${t.keys} (k, job_id, scope, until_ms, input_hash) values ${keys.map(valuesOf)}
    on duplicate key update job_id = values(job_id), scope = values(scope), until_ms = values(until_ms),
    input_hash = values(input_hash)`;
}

/** Takes back what was reserved for these jobs. Index: primary. */
export function deleteKeys(t: Tables, keys: readonly string[], jobIds: readonly string[]): Sql {
  return sql`delete from ${t.keys} where k in ${list(keys.map(hexText))} and job_id in ${list(jobIds.map(hexId))}`;
}

/** Where the holders of keys stand: id, is final, is leased, is spent. Index: primary of all but leases: by_id. */
export function readHolders(t: Tables, ids: readonly string[]): Sql {
  return sql`select j.id, f.id is not null as ended, l.id is not null as leased, coalesce(m.spent, 0) as spent from ${t.jobs} j
    left join ${t.finals} f on f.id = j.id left join ${t.leases} l on l.id = j.id left join ${t.marks} m on m.id = j.id
    where j.id in ${list(ids.map(hexId))}`;
}

function valuesOf({ key, jobId, scope, untilMs, inputHash }: KeyRow): Sql {
  return sql`(${hexText(key)}, ${hexId(jobId)}, ${scope}, ${untilMs}, ${inputHash === null ? null : hexDigits(inputHash, 32)})`;
}
