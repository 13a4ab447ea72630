import { type HubRecord, type HubReport, hubKeptMs } from '../hub-record.js';
import type { Connection } from './connection.js';
import * as sql from './queries/hubs.js';
import type { Transaction } from './transaction.js';

export function hubBeat({ db, nowMs }: Transaction, hub: HubReport): void {
  db.run(sql.beat, hub.id, nowMs, nowMs, JSON.stringify(hub));
}

export function hubs(db: Connection, nowMs: number): HubRecord[] {
  const rows = db.all<{ report: string; startedAtMs: number; heartbeatAtMs: number }>(
    sql.list,
    nowMs - hubKeptMs,
  );
  return rows.map(({ report, ...times }) => ({
    ...(JSON.parse(report) as HubReport),
    ...times,
    silentForMs: nowMs - times.heartbeatAtMs,
  }));
}

export function removeHub({ db }: Transaction, id: string): void {
  db.run(sql.remove, id);
}
