import { bytesToUuid } from '../../internal/uuid.js';
import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import {
  type AdminState,
  type FleetOrders,
  type HeartbeatAnswer,
  type Registration,
  readReport,
  type WorkerChange,
  type WorkerChangeOutcome,
  type WorkerOrders,
  type WorkerRecord,
  type WorkerReport,
} from '../worker-record.js';
import type { Context } from './context.js';
import { pausedQueues } from './control.js';
import { isDuplicateRow } from './errors.js';
import {
  type At,
  askRecycle,
  auditPage,
  deleteSilent,
  deleteWorker,
  foldDeltas,
  hideSilent,
  holdsDuty,
  insertWorker,
  lockDeltas,
  lockWorker,
  markDisconnected,
  markGone,
  readAdminState,
  readFleetOrders,
  readKnown,
  readWorkers,
  refreshWorker,
  releaseDutyStatement,
  replaceWorker,
  takeDutyStatement,
  writeAdminState,
  writeAudit,
} from './queries/workers.js';
import { list, type Sql, sql } from './sql.js';
import type { Tables } from './tables.js';

/** Counts that are folded in one transaction. */
const foldRows = 5_000;

/** The migration that brings them. */
const epochsSince = 2;
const hasEpochs = ({ applied }: Context): boolean => applied.version >= epochsSince;
const at = (context: Context): At => ({ now: context.now(), hasEpochs: hasEpochs(context) });

/** Whose registration may be replaced. */
interface Claim {
  readonly aliveMs: number;
  /** An incarnation that is known to be over. */
  readonly ended: string | null;
}

export async function register(context: Context, report: WorkerReport, claim: Claim): Promise<Registration> {
  try {
    return await registerOnce(context, report, claim);
  } catch (error) {
    if (!isDuplicateRow(error)) throw error;
    // Another one wrote the first row of this id in between: now it is there to be looked at.
    return registerOnce(context, report, claim);
  }
}

function registerOnce(context: Context, report: WorkerReport, claim: Claim): Promise<Registration> {
  const { t, side } = context;
  return side.transaction('registering a worker', async (tx): Promise<Registration> => {
    const [result] = await tx.send(lockWorker(t, report.id, at(context)));
    const row = result?.rows[0];
    const { id, incarnation } = report;
    const written = { id, incarnation, report: JSON.stringify(report) };
    if (row === undefined) {
      await tx.send(insertWorker(t, written, at(context)));
      const [made] = await tx.send(readKnown(t, report, hasEpochs(context)));
      return { outcome: 'registered', adminState: 'active', epoch: Number(made?.rows[0]?.[1]) };
    }
    const known = workerOf(row);
    const { adminState, connectionEpoch } = known;
    const isSame = known.incarnation === incarnation;
    const isAlive = !known.gone && !isForgotten(row) && known.silentForMs < claim.aliveMs;
    if (isAlive && !isSame && known.incarnation !== claim.ended)
      return { outcome: 'taken', adminState, epoch: connectionEpoch };
    await tx.send(replaceWorker(t, written, { isSame, ...at(context) }));
    // The row is locked: nobody else counts it up in between.
    return { outcome: 'registered', adminState, epoch: hasEpochs(context) ? connectionEpoch + 1 : 0 };
  });
}

export async function heartbeat(
  context: Context,
  report: WorkerReport,
  epoch?: number,
): Promise<HeartbeatAnswer> {
  const { t, side } = context;
  const { id, incarnation } = report;
  const row = { id, incarnation, report: JSON.stringify(report) };
  const [refreshed] = await side.send('heartbeat', refreshWorker(t, row, { epoch, ...at(context) }));
  const [found] = await side.send('heartbeat', readKnown(t, report, hasEpochs(context)));
  const [state, newest, isThis] = found?.rows[0] ?? [];
  const adminState = adminStateOf(state);
  if (refreshed?.changed === 1) return { outcome: 'ok', adminState };
  const isSuperseded = isThis === 1 && epoch !== undefined && newest !== epoch;
  return { outcome: isSuperseded ? 'superseded' : 'unknown', adminState };
}

export async function noteDisconnected(
  context: Context,
  id: string,
  { incarnation, epoch }: { readonly incarnation: string; readonly epoch: number },
): Promise<boolean> {
  const statement = markDisconnected(context.t, { id, incarnation, epoch }, context.now());
  const [result] = await context.side.send('noting a lost connection', statement);
  return result?.changed === 1;
}

export async function fleetOrders(context: Context): Promise<FleetOrders> {
  const [result] = await context.side.send('reading orders', readFleetOrders(context.t));
  return {
    workers: (result?.rows ?? []).map(([id, adminState, recycleAsked]) => ({
      id: String(id),
      adminState: adminStateOf(adminState),
      recycleAsked: recycleAsked === 1,
    })),
    paused: await pausedQueues(context),
  };
}

export async function orders(context: Context, id: string): Promise<WorkerOrders> {
  const { t, side } = context;
  const [state] = await side.send('reading orders', readAdminState(t, id));
  const [adminState, recycleAsked] = state?.rows[0] ?? [];
  return {
    adminState: adminStateOf(adminState),
    recycleAsked: recycleAsked === 1,
    paused: await pausedQueues(context),
  };
}

export async function unregister(context: Context, id: string, incarnation: string): Promise<void> {
  await context.side.send('unregistering a worker', markGone(context.t, id, incarnation, context.now()));
}

export async function workers(context: Context): Promise<WorkerRecord[]> {
  const [result] = await context.side.send('reading workers', readWorkers(context.t, at(context)));
  return (result?.rows ?? []).map(workerOf);
}

export function changeWorker(
  context: Context,
  id: string,
  { change, audit }: { readonly change: WorkerChange; readonly audit: NewAuditEntry },
): Promise<WorkerChangeOutcome> {
  const { t, side } = context;
  return side.transaction('changing a worker', async (tx) => {
    const [found] = await tx.send(lockWorker(t, id, at(context)));
    const row = found?.rows[0];
    const { outcome, statement } = row === undefined ? notFound : carriedOut(t, { id, row }, change);
    if (statement !== null) await tx.send(statement);
    await tx.send(writeAudit(t, { ...audit, result: outcome }, context.now()));
    return outcome;
  });
}

interface CarriedOut {
  readonly outcome: WorkerChangeOutcome;
  readonly statement: Sql | null;
}

const notFound: CarriedOut = { outcome: 'not-found', statement: null };

function carriedOut(
  t: Tables,
  { id, row }: { readonly id: string; readonly row: readonly unknown[] },
  change: WorkerChange,
): CarriedOut {
  switch (change.kind) {
    case 'admin-state':
      return { outcome: 'done', statement: writeAdminState(t, id, change.adminState) };
    case 'recycle':
      return isForgotten(row) ? notFound : { outcome: 'done', statement: askRecycle(t, id) };
    case 'forget': {
      const { gone, silentForMs } = workerOf(row);
      const isSilent = gone || isForgotten(row) || silentForMs >= change.silentForMs;
      return isSilent
        ? { outcome: 'done', statement: deleteWorker(t, id) }
        : { outcome: 'alive', statement: null };
    }
  }
}

export async function noteAudit(context: Context, entry: NewAuditEntry, result: string): Promise<void> {
  await context.side.send('writing the audit', writeAudit(context.t, { ...entry, result }, context.now()));
}

export async function forgetSilent(context: Context, id: string, heartbeatAtMs: number): Promise<boolean> {
  const { t, side } = context;
  const [deleted] = await side.send('forgetting a worker', deleteSilent(t, id, heartbeatAtMs));
  if (deleted?.changed === 1) return true;
  const [hidden] = await side.send('forgetting a worker', hideSilent(t, id, heartbeatAtMs));
  return hidden?.changed === 1;
}

export async function audit(context: Context, page: AuditPageRequest): Promise<AuditEntry[]> {
  const [result] = await context.side.send('reading the audit', auditPage(context.t, page));
  return (result?.rows ?? []).map(([id, actor, action, target, source, atMs, outcome]) => ({
    id: bytesToUuid(id as Buffer),
    actor: actor as string,
    action: action as string,
    target: target as string,
    source: source as string,
    atMs: atMs as number,
    result: outcome as string,
  }));
}

const adminStateOf = (value: unknown): AdminState =>
  ((value as Buffer | undefined)?.toString() ?? 'active') as AdminState;

const isForgotten = (row: readonly unknown[]): boolean => row[8] === 1;

function workerOf(row: readonly unknown[]): WorkerRecord {
  const [, , report, adminState, startedAt, heartbeatAt, gone, recycleAsked, , epoch, disconnectedAt, now] =
    row;
  return {
    ...readReport(report as string),
    adminState: adminStateOf(adminState),
    recycleAsked: recycleAsked === 1,
    startedAtMs: startedAt as number,
    heartbeatAtMs: heartbeatAt as number,
    silentForMs: Number(now) - (heartbeatAt as number),
    gone: gone === 1,
    connectionEpoch: epoch as number,
    disconnectedForMs: disconnectedAt === null ? null : Number(now) - (disconnectedAt as number),
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

/** Folds the counts of settles into one row per queue and status. On the side connection: every worker does it, and the thread of one that takes nothing back needs no other. */
export async function tidy(context: Context): Promise<void> {
  const { t, side } = context;
  for (;;) {
    const folded = await side.transaction('folding counters', async (tx) => {
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
