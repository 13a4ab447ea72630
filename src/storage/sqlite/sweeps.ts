import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BuriedPage, retryBuriedPage } from './control.js';
import type { BlockedPlace } from './queries/recover.js';
import { releasable, release } from './recover.js';
import type { Session } from './session.js';

const pageSize = 500;

/** Page by page in ascending id; a page is one transaction. */
export async function retryBuried(
  session: Session,
  request: { readonly queue?: string; readonly limit: number },
): Promise<{ retried: number; duplicates: number }> {
  const sum = { retried: 0, duplicates: 0 };
  for (let after: Buffer | null = Buffer.alloc(0); after !== null && sum.retried < request.limit; ) {
    const page: { queue: string | undefined; after: Buffer; size: number; limit: number } = {
      queue: request.queue,
      after,
      size: pageSize,
      limit: request.limit - sum.retried,
    };
    const done: BuriedPage = await session.write('retryBuried', pageSize, (tx) => retryBuriedPage(tx, page));
    sum.retried += done.retried;
    sum.duplicates += done.duplicates;
    after = done.last;
    if (after !== null) await nextTurn();
  }
  return sum;
}

/** Looks without the write lock; only what it finds is written. */
export async function releaseBlocked(session: Session, limit: number): Promise<number> {
  let moved = 0;
  for (let after: BlockedPlace | null = { queue: 0, row: 0 }; after !== null && moved < limit; ) {
    const from: BlockedPlace = after;
    const page = await session.read('releaseBlocked', (db) => releasable(db, from, pageSize));
    const rows = page.rows.slice(0, limit - moved);
    if (rows.length > 0)
      moved += await session.write('releaseBlocked', rows.length, (tx) => release(tx, rows));
    after = page.last;
    if (after !== null) await nextTurn();
  }
  return moved;
}
