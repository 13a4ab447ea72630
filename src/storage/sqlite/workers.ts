import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import {
  type AdminState,
  type FleetOrders,
  firstEpoch,
  type HeartbeatAnswer,
  type Registration,
  readReport,
  type WorkerChange,
  type WorkerChangeOutcome,
  type WorkerOrders,
  type WorkerRecord,
  type WorkerReport,
} from '../worker-record.js';
import type { Connection } from './connection.js';
import { pausedQueueNames } from './queries/kinds.js';
import * as sql from './queries/workers.js';
import type { Transaction } from './transaction.js';

export function register(
  tx: Transaction,
  report: WorkerReport,
  { aliveMs, ended }: { readonly aliveMs: number; readonly ended: string | null },
): Registration {
  const { db, nowMs } = tx;
  const known = db.get<sql.WorkerRow>(sql.workerById, report.id);
  const adminState = known?.adminState ?? 'active';
  const isSame = known?.incarnation === report.incarnation;
  const isAlive = known !== undefined && known.gone === 0 && nowMs - known.heartbeatAt < aliveMs;
  if (isAlive && !isSame && known.forgotten === 0 && known.incarnation !== ended) {
    return { outcome: 'taken', adminState, epoch: known.connectionEpoch };
  }
  const startedAt = isSame ? known.startedAt : nowMs;
  const recycleAsked = isSame ? known.recycleAsked : 0;
  const text = JSON.stringify(report);
  const values = [report.id, report.incarnation, startedAt, nowMs, recycleAsked, text, firstEpoch(nowMs)];
  const epoch = db.value<number>(sql.register, ...values) ?? 0;
  return { outcome: 'registered', adminState, epoch };
}

export function heartbeat(tx: Transaction, report: WorkerReport, epoch?: number): HeartbeatAnswer {
  const { db, nowMs } = tx;
  const known = db.get<sql.WorkerRow>(sql.workerById, report.id);
  const adminState = known?.adminState ?? 'active';
  // Nobody else writes in between: this is a write transaction.
  const isHeld = known?.incarnation === report.incarnation && known.gone === 0 && known.forgotten === 0;
  if (!isHeld) return { outcome: 'unknown', adminState };
  if (epoch !== undefined && epoch !== known.connectionEpoch) return { outcome: 'superseded', adminState };
  db.run(sql.heartbeat, nowMs, JSON.stringify(report), report.id, report.incarnation);
  return { outcome: 'ok', adminState };
}

export function noteDisconnected(
  { db, nowMs }: Transaction,
  id: string,
  { incarnation, epoch }: { readonly incarnation: string; readonly epoch: number },
): boolean {
  return db.run(sql.noteDisconnected, nowMs, id, incarnation, epoch) === 1;
}

export function fleetOrders(db: Connection): FleetOrders {
  const rows = db.all<{ id: string; adminState: AdminState; recycleAsked: number }>(sql.fleetOrders);
  return {
    workers: rows.map(({ recycleAsked, ...order }) => ({ ...order, recycleAsked: recycleAsked === 1 })),
    paused: db.values<string>(pausedQueueNames),
  };
}

export function orders(db: Connection, id: string): WorkerOrders {
  const known = db.get<sql.WorkerRow>(sql.workerById, id);
  return {
    adminState: known?.adminState ?? 'active',
    recycleAsked: known?.recycleAsked === 1,
    paused: db.values<string>(pausedQueueNames),
  };
}

export function unregister(tx: Transaction, id: string, incarnation: string): void {
  tx.db.run(sql.unregister, tx.nowMs, id, incarnation);
}

export function workers(db: Connection, nowMs: number): WorkerRecord[] {
  return db.all<sql.WorkerRow>(sql.allWorkers).map((row) => ({
    ...readReport(row.report),
    adminState: row.adminState,
    recycleAsked: row.recycleAsked === 1,
    startedAtMs: row.startedAt,
    heartbeatAtMs: row.heartbeatAt,
    silentForMs: nowMs - row.heartbeatAt,
    gone: row.gone === 1,
    connectionEpoch: row.connectionEpoch,
    disconnectedForMs: row.disconnectedAt === null ? null : nowMs - row.disconnectedAt,
  }));
}

export function changeWorker(
  tx: Transaction,
  id: string,
  { change, audit }: { readonly change: WorkerChange; readonly audit: NewAuditEntry },
): WorkerChangeOutcome {
  const known = tx.db.get<sql.WorkerRow>(sql.workerById, id);
  const outcome = known === undefined ? 'not-found' : carryOut(tx, id, change);
  noteAudit(tx, audit, outcome);
  return outcome;
}

export function noteAudit({ db, nowMs }: Transaction, entry: NewAuditEntry, result: string): void {
  const { id, actor, action, target, source } = entry;
  db.run(sql.writeAudit, nowMs, id, actor, action, target, source, result);
}

function carryOut({ db, nowMs }: Transaction, id: string, change: WorkerChange): WorkerChangeOutcome {
  switch (change.kind) {
    case 'admin-state':
      db.run(sql.setAdminState, change.adminState, id);
      return 'done';
    case 'recycle':
      return db.run(sql.askRecycle, id) === 1 ? 'done' : 'not-found';
    case 'forget':
      return db.run(sql.forget, id, nowMs - change.silentForMs) === 1 ? 'done' : 'alive';
  }
}

export function forgetSilent({ db }: Transaction, id: string, heartbeatAtMs: number): boolean {
  return db.run(sql.forgetSilent, id, heartbeatAtMs) === 1 || db.run(sql.hideSilent, id, heartbeatAtMs) === 1;
}

export function audit(db: Connection, { limit, after }: AuditPageRequest): AuditEntry[] {
  const { atMs, id } = after ?? { atMs: Number.MAX_SAFE_INTEGER, id: '' };
  return db.all<AuditEntry>(sql.auditPage, atMs, id, limit);
}

export function takeDuty(tx: Transaction, name: string, holder: string, ttlMs: number): boolean {
  return tx.db.run(sql.takeDuty, name, holder, tx.nowMs + Math.round(ttlMs), tx.nowMs) === 1;
}

export function releaseDuty(tx: Transaction, name: string, holder: string): void {
  tx.db.run(sql.releaseDuty, name, holder);
}
