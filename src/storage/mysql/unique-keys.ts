/**
 * Unique and idempotency keys. A key is taken in the transaction that writes its job, and freed by nothing: whether its
 * row still holds is read from where the holder stands, at the moment somebody else wants the key. So neither claim nor
 * settle has any work with keys, and a crash can't leave one without its job.
 *
 * - idempotency: holds while the row of its job exists (purge and deletion take the key along).
 * - `active`: holds while its job is not final. · `waiting`: while it is pending or blocked and was never claimed or final.
 * - `period`: holds until its time, whatever becomes of the job.
 *
 * Whoever takes a key over has its row locked (after the rows of jobs, in ascending key), and so has a retry that takes
 * it again: of two, the second one sees what the first one did.
 */
import { bytesToUuid } from '../../internal/uuid.js';
import type { Changes } from './changes.js';
import { idempotencyScope, scopeCode } from './codes.js';
import { type KeyRow, lockKeys, readHolders, reserveKeys } from './queries/keys.js';

/** The valid holder of each key that has one. */
export type Holders = Map<string, KeyRow>;

/**
 * Locks the rows of these keys, made where there are none, and reads who holds them. Rows reserved for `mine` hold
 * nothing yet.
 */
export async function lockHolders(
  changes: Changes,
  wanted: readonly KeyRow[],
  mine: ReadonlySet<string>,
): Promise<Holders> {
  const holders: Holders = new Map();
  if (wanted.length === 0) return holders;
  const { t } = changes.context;
  const sorted = [...wanted].sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  const [, result] = await changes.tx.send(
    reserveKeys(t, sorted),
    lockKeys(t, [...new Set(sorted.map(({ key }) => key))]),
  );
  const rows = (result?.rows ?? []).map(keyRowOf).filter(({ jobId }) => !mine.has(jobId));
  if (rows.length === 0) return holders;
  const states = await changes.readCommitted(
    readHolders(
      t,
      rows.map(({ jobId }) => jobId),
    ),
  );
  const stateOf = new Map(states.map((row) => [bytesToUuid(row[0] as Buffer), row.slice(1).map(Number)]));
  for (const row of rows) {
    if (holds(row, stateOf.get(row.jobId), changes.nowMs)) holders.set(row.key, row);
  }
  return holders;
}

function holds(row: KeyRow, state: readonly number[] | undefined, nowMs: number): boolean {
  if (row.scope === scopeCode.period) return row.untilMs !== null && row.untilMs > nowMs;
  if (state === undefined) return false;
  const [isFinal = 0, isLeased = 0, isSpent = 0] = state;
  if (row.scope === idempotencyScope) return true;
  if (row.scope === scopeCode.active) return isFinal === 0;
  return isFinal === 0 && isLeased === 0 && isSpent === 0;
}

function keyRowOf(row: readonly unknown[]): KeyRow {
  const [key, jobId, scope, untilMs, inputHash] = row as [
    Buffer,
    Buffer,
    number,
    number | null,
    Buffer | null,
  ];
  return {
    key: key.toString(),
    jobId: bytesToUuid(jobId),
    scope,
    untilMs,
    inputHash: inputHash?.toString('hex') ?? null,
  };
}
