import type { AdminState, WorkerRecord, WorkerReport } from '../worker-record.js';
import { byId, type MemoryState } from './state.js';

export function register(
  state: MemoryState,
  report: WorkerReport,
  aliveMs: number,
): { outcome: 'registered' | 'taken'; adminState: AdminState } {
  const nowMs = state.now();
  const known = state.workers.get(report.id);
  const adminState = known?.adminState ?? 'active';
  const isSame = known?.incarnation === report.incarnation;
  if (known !== undefined && !isSame && !known.gone && nowMs - known.heartbeatAtMs < aliveMs) {
    return { outcome: 'taken', adminState };
  }
  const startedAtMs = isSame ? known.startedAtMs : nowMs;
  state.workers.set(report.id, {
    ...structuredClone(report),
    adminState,
    startedAtMs,
    heartbeatAtMs: nowMs,
    gone: false,
  });
  return { outcome: 'registered', adminState };
}

export function heartbeat(
  state: MemoryState,
  report: WorkerReport,
): { outcome: 'ok' | 'unknown'; adminState: AdminState } {
  const known = state.workers.get(report.id);
  if (known === undefined || known.incarnation !== report.incarnation || known.gone) {
    return { outcome: 'unknown', adminState: known?.adminState ?? 'active' };
  }
  state.workers.set(report.id, { ...known, ...structuredClone(report), heartbeatAtMs: state.now() });
  return { outcome: 'ok', adminState: known.adminState };
}

export function unregister(state: MemoryState, id: string, incarnation: string): void {
  const known = state.workers.get(id);
  if (known?.incarnation !== incarnation) return;
  state.workers.set(id, { ...known, heartbeatAtMs: state.now(), gone: true });
}

export function workers(state: MemoryState): WorkerRecord[] {
  const nowMs = state.now();
  return [...state.workers.values()]
    .sort(byId)
    .map((worker) => ({ ...structuredClone(worker), silentForMs: nowMs - worker.heartbeatAtMs }));
}

export function takeDuty(state: MemoryState, name: string, holder: string, ttlMs: number): boolean {
  const nowMs = state.now();
  const duty = state.duties.get(name);
  if (duty !== undefined && duty.holder !== holder && duty.untilMs > nowMs) return false;
  state.duties.set(name, { holder, untilMs: nowMs + ttlMs });
  return true;
}

export function releaseDuty(state: MemoryState, name: string, holder: string): void {
  if (state.duties.get(name)?.holder === holder) state.duties.delete(name);
}
