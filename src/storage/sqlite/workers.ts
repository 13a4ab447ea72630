import type { AdminState, WorkerRecord, WorkerReport } from '../worker-record.js';
import type { Connection } from './connection.js';
import * as sql from './queries/workers.js';
import type { Transaction } from './transaction.js';

export function register(
  tx: Transaction,
  report: WorkerReport,
  aliveMs: number,
): { outcome: 'registered' | 'taken'; adminState: AdminState } {
  const { db, nowMs } = tx;
  const known = db.get<sql.WorkerRow>(sql.workerById, report.id);
  const adminState = known?.adminState ?? 'active';
  const isSame = known?.incarnation === report.incarnation;
  if (known !== undefined && !isSame && known.gone === 0 && nowMs - known.heartbeatAt < aliveMs) {
    return { outcome: 'taken', adminState };
  }
  const startedAt = isSame ? known.startedAt : nowMs;
  db.run(sql.register, report.id, report.incarnation, startedAt, nowMs, JSON.stringify(report));
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

export function unregister(tx: Transaction, id: string, incarnation: string): void {
  tx.db.run(sql.unregister, tx.nowMs, id, incarnation);
}

export function workers(db: Connection, nowMs: number): WorkerRecord[] {
  return db.all<sql.WorkerRow>(sql.allWorkers).map((row) => ({
    ...(JSON.parse(row.report) as WorkerReport),
    adminState: row.adminState,
    startedAtMs: row.startedAt,
    heartbeatAtMs: row.heartbeatAt,
    silentForMs: nowMs - row.heartbeatAt,
    gone: row.gone === 1,
  }));
}

export function takeDuty(tx: Transaction, name: string, holder: string, ttlMs: number): boolean {
  return tx.db.run(sql.takeDuty, name, holder, tx.nowMs + Math.round(ttlMs), tx.nowMs) === 1;
}

export function releaseDuty(tx: Transaction, name: string, holder: string): void {
  tx.db.run(sql.releaseDuty, name, holder);
}
