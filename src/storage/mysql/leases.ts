import { bytesToUuid } from '../../internal/uuid.js';
import type { HeldLease, Lease } from '../claimed-job.js';
import { stopOf } from './codes.js';
import type { Context } from './context.js';
import {
  heldStatement,
  lockHeld,
  markStartedStatement,
  renewStatement,
  stopRequestsStatement,
  tokensOf,
} from './queries/leases.js';
import { hexBytes, sql } from './sql.js';

/** Leases in one statement of a renewal. */
const renewedAtOnce = 1_000;

export async function markStarted(context: Context, leases: readonly Lease[]): Promise<string[]> {
  if (leases.length === 0) return [];
  await context.side.send('marking jobs as started', markStartedStatement(context.t, leases));
  const [result] = await context.side.send('reading leases', tokensOf(context.t, leases));
  const tokens = new Map(
    (result?.rows ?? []).map(([id, token]) => [bytesToUuid(id as Buffer), (token as Buffer).toString('hex')]),
  );
  return leases
    .filter(({ id, token }) => tokens.get(id.toLowerCase()) !== token.toLowerCase())
    .map(({ id }) => id);
}

export async function renew(context: Context, incarnation: string, leaseMs: number): Promise<HeldLease[]> {
  await context.side.transaction('renewing leases', async (tx) => {
    const [locked] = await tx.send(lockHeld(context.t, incarnation));
    const ids = (locked?.rows ?? []).map(([id]) => hexBytes(id as Buffer));
    for (let at = 0; at < ids.length; at += renewedAtOnce) {
      const part = ids.slice(at, at + renewedAtOnce);
      await tx.send(renewStatement(context.t, part, sql`${context.now()} + ${leaseMs}`));
    }
  });
  return held(context, incarnation);
}

export async function held(context: Context, incarnation: string): Promise<HeldLease[]> {
  const [result] = await context.side.send('reading held leases', heldStatement(context.t, incarnation));
  return (result?.rows ?? []).map(heldLease);
}

/** Stop requests in one answer. */
const mostRequests = 1_000;
/** Ranges in one statement: more, and the server gives up on using them one by one. */
const rangesAtOnce = 500;

export async function stopRequests(context: Context, incarnations: readonly string[]): Promise<HeldLease[]> {
  const found: HeldLease[] = [];
  for (let at = 0; at < incarnations.length && found.length < mostRequests; at += rangesAtOnce) {
    const part = incarnations.slice(at, at + rangesAtOnce);
    const statement = stopRequestsStatement(context.t, part, mostRequests - found.length);
    const [result] = await context.side.send('reading stop requests', statement);
    found.push(...(result?.rows ?? []).map(heldLease));
  }
  return found;
}

const heldLease = ([id, token, stop]: readonly unknown[]): HeldLease => ({
  id: bytesToUuid(id as Buffer),
  token: (token as Buffer).toString('hex'),
  stopRequest: stopOf(stop as number),
});
