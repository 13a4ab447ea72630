import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import type {
  AdminState,
  WorkerChange,
  WorkerChangeOutcome,
  WorkerOrders,
  WorkerRecord,
  WorkerReport,
} from '../worker-record.js';
import type { Connection } from './connection.js';
import { pausedQueueNames } from './queries/kinds.js';
import * as sql from './queries/workers.js';
import type { Transaction } from './transaction.js';

export function register(
  tx: Transaction,
  report: WorkerReport,
  { aliveMs, ended }: { readonly aliveMs: number; readonly ended: string | null },
): { outcome: 'registered' | 'taken'; adminState: AdminState } {
  const { db, nowMs } = tx;
  const known = db.get<sql.WorkerRow>(sql.workerById, report.id);
  const adminState = known?.adminState ?? 'active';
  const isSame = known?.incarnation === report.incarnation;
  const isAlive = known !== undefined && known.gone === 0 && nowMs - known.heartbeatAt < aliveMs;
  if (isAlive && !isSame && known.forgotten === 0 && known.incarnation !== ended) {
    return { outcome: 'taken', adminState };
  }
  const startedAt = isSame ? known.startedAt : nowMs;
  const recycleAsked = isSame ? known.recycleAsked : 0;
  const text = JSON.stringify(report);
  db.run(sql.register, report.id, report.incarnation, startedAt, nowMs, recycleAsked, text);
  return { outcome: 'registered', adminState };
}

export function heartbeat(
  tx: Transaction,
  report: WorkerReport,
): { outcome: 'ok' | 'unknown'; adminState: AdminState } {
  const { db, nowMs } = tx;
  const isKnown = db.run(sql.heartbeat, nowMs, JSON.stringify(report), report.id, report.incarnation) === 1;
  const adminState = db.get<sql.WorkerRow>(sql.workerById, report.id)?.adminState ?? 'active';
  return { outcome: isKnown ? 'ok' : 'unknown', adminState };
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
    ...(JSON.parse(row.report) as WorkerReport),
    adminState: row.adminState,
    recycleAsked: row.recycleAsked === 1,
    startedAtMs: row.startedAt,
    heartbeatAtMs: row.heartbeatAt,
    silentForMs: nowMs - row.heartbeatAt,
    gone: row.gone === 1,
  }));
}

export function changeWorker(
  tx: Transaction,
  id: string,
  { change, audit }: { readonly change: WorkerChange; readonly audit: NewAuditEntry },
): WorkerChangeOutcome {
  const { db, nowMs } = tx;
  const known = db.get<sql.WorkerRow>(sql.workerById, id);
  const outcome = known === undefined ? 'not-found' : carryOut(tx, id, change);
  const { actor, action, target, source } = audit;
  db.run(sql.writeAudit, nowMs, audit.id, actor, action, target, source, outcome);
  return outcome;
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
