import type { AdminState, WorkerRecord, WorkerReport } from '../worker-record.js';
import type { Context } from './context.js';
import { isDuplicateRow } from './errors.js';
import {
  foldDeltas,
  holdsDuty,
  insertWorker,
  lockDeltas,
  lockWorker,
  markGone,
  readAdminState,
  readWorkers,
  refreshWorker,
  releaseDutyStatement,
  replaceWorker,
  takeDutyStatement,
} from './queries/workers.js';
import { list, sql } from './sql.js';

/** Counts that are folded in one transaction. */
const foldRows = 5_000;

interface Registration {
  readonly outcome: 'registered' | 'taken';
  readonly adminState: AdminState;
}

export async function register(
  context: Context,
  report: WorkerReport,
  aliveMs: number,
): Promise<Registration> {
  try {
    return await registerOnce(context, report, aliveMs);
  } catch (error) {
    if (!isDuplicateRow(error)) throw error;
    // Another one wrote the first row of this id in between: now it is there to be looked at.
    return registerOnce(context, report, aliveMs);
  }
}

function registerOnce(context: Context, report: WorkerReport, aliveMs: number): Promise<Registration> {
  const { t, side } = context;
  return side.transaction('registering a worker', async (tx): Promise<Registration> => {
    const [result] = await tx.send(lockWorker(t, report.id, context.now()));
    const row = result?.rows[0];
    const { id, incarnation } = report;
    const written = { id, incarnation, report: JSON.stringify(report) };
    if (row === undefined) {
      await tx.send(insertWorker(t, written, context.now()));
      return { outcome: 'registered', adminState: 'active' };
    }
    const known = workerOf(row);
    const { adminState } = known;
    const isSame = known.incarnation === incarnation;
    if (!isSame && !known.gone && known.silentForMs < aliveMs) return { outcome: 'taken', adminState };
    await tx.send(replaceWorker(t, written, isSame ? known.startedAtMs : null, context.now()));
    return { outcome: 'registered', adminState };
  });
}

export async function heartbeat(
  context: Context,
  report: WorkerReport,
): Promise<{ outcome: 'ok' | 'unknown'; adminState: AdminState }> {
  const { t, side } = context;
  const { id, incarnation } = report;
  const row = { id, incarnation, report: JSON.stringify(report) };
  const [refreshed] = await side.send('heartbeat', refreshWorker(t, row, context.now()));
  const [state] = await side.send('heartbeat', readAdminState(t, id));
  const adminState = (state?.rows[0]?.[0] as Buffer | undefined)?.toString() ?? 'active';
  return { outcome: refreshed?.changed === 1 ? 'ok' : 'unknown', adminState: adminState as AdminState };
}

export async function unregister(context: Context, id: string, incarnation: string): Promise<void> {
  await context.side.send('unregistering a worker', markGone(context.t, id, incarnation, context.now()));
}

export async function workers(context: Context): Promise<WorkerRecord[]> {
  const [result] = await context.side.send('reading workers', readWorkers(context.t, context.now()));
  return (result?.rows ?? []).map(workerOf);
}

function workerOf(row: readonly unknown[]): WorkerRecord {
  const [, , report, adminState, startedAt, heartbeatAt, gone, now] = row;
  return {
    ...(JSON.parse(report as string) as WorkerReport),
    adminState: (adminState as Buffer).toString() as AdminState,
    startedAtMs: startedAt as number,
    heartbeatAtMs: heartbeatAt as number,
    silentForMs: Number(now) - (heartbeatAt as number),
    gone: gone === 1,
  };
}

export async function takeDuty(
  context: Context,
  name: string,
  holder: string,
  ttlMs: number,
): Promise<boolean> {
  const { t, side } = context;
  await side.send('taking a duty', takeDutyStatement(t, name, holder, ttlMs, context.now()));
  const [result] = await side.send('taking a duty', holdsDuty(t, name, holder));
  return (result?.rows.length ?? 0) > 0;
}

export async function releaseDuty(context: Context, name: string, holder: string): Promise<void> {
  await context.side.send('releasing a duty', releaseDutyStatement(context.t, name, holder));
}

/** Folds the counts of settles into one row per queue and status. */
export async function tidy(context: Context): Promise<void> {
  const { t, main } = context;
  for (;;) {
    const folded = await main.transaction('folding counters', async (tx) => {
      const [result] = await tx.send(lockDeltas(t, foldRows));
      const rows = (result?.rows ?? []) as [number, number, number, number][];
      if (rows.length === 0) return 0;
      const sums = new Map<string, { queueId: number; status: number; n: number }>();
      for (const [, queueId, status, n] of rows) {
        const key = `${queueId} ${status}`;
        sums.set(key, { queueId, status, n: (sums.get(key)?.n ?? 0) + n });
      }
      const ids = rows.map(([id]) => id);
      await tx.send(foldDeltas(t, [...sums.values()]), sql`delete from ${t.deltas} where id in ${list(ids)}`);
      return rows.length;
    });
    if (folded < foldRows) return;
  }
}
