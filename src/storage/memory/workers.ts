import type { AuditEntry, AuditPageRequest, NewAuditEntry } from '../audit.js';
import {
  type FleetOrders,
  firstEpoch,
  type HeartbeatAnswer,
  type Registration,
  type WorkerChange,
  type WorkerChangeOutcome,
  type WorkerOrders,
  type WorkerRecord,
  type WorkerReport,
} from '../worker-record.js';
import { byId, type MemoryState, type MemoryWorker } from './state.js';

export function register(
  state: MemoryState,
  report: WorkerReport,
  { aliveMs, ended }: { readonly aliveMs: number; readonly ended: string | null },
): Registration {
  const nowMs = state.now();
  const known = state.workers.get(report.id);
  const adminState = known?.adminState ?? state.keptAdminStates.get(report.id) ?? 'active';
  const isSame = known?.incarnation === report.incarnation;
  const isAlive = known !== undefined && !known.gone && nowMs - known.heartbeatAtMs < aliveMs;
  if (isAlive && !isSame && known.incarnation !== ended)
    return { outcome: 'taken', adminState, epoch: known.connectionEpoch };
  const epoch = known === undefined ? firstEpoch(nowMs) : known.connectionEpoch + 1;
  state.keptAdminStates.delete(report.id);
  state.workers.set(report.id, {
    ...structuredClone(report),
    adminState,
    recycleAsked: isSame && known.recycleAsked,
    startedAtMs: isSame ? known.startedAtMs : nowMs,
    heartbeatAtMs: nowMs,
    gone: false,
    connectionEpoch: epoch,
    disconnectedAtMs: null,
  });
  return { outcome: 'registered', adminState, epoch };
}

export function heartbeat(state: MemoryState, report: WorkerReport, epoch?: number): HeartbeatAnswer {
  const known = state.workers.get(report.id);
  if (known === undefined || known.incarnation !== report.incarnation || known.gone) {
    return { outcome: 'unknown', adminState: orders(state, report.id).adminState };
  }
  const { adminState } = known;
  if (epoch !== undefined && epoch !== known.connectionEpoch) return { outcome: 'superseded', adminState };
  const heartbeatAtMs = state.now();
  state.workers.set(report.id, {
    ...{ ...known, ...structuredClone(report) },
    ...{ heartbeatAtMs, disconnectedAtMs: null },
  });
  return { outcome: 'ok', adminState };
}

export function noteDisconnected(
  state: MemoryState,
  id: string,
  { incarnation, epoch }: { readonly incarnation: string; readonly epoch: number },
): boolean {
  const known = state.workers.get(id);
  if (known?.incarnation !== incarnation || known.connectionEpoch !== epoch || known.gone) return false;
  state.workers.set(id, { ...known, disconnectedAtMs: known.disconnectedAtMs ?? state.now() });
  return true;
}

export function fleetOrders(state: MemoryState): FleetOrders {
  const kept = [...state.keptAdminStates].map(([id, adminState]) => ({
    ...{ id, adminState },
    recycleAsked: false,
  }));
  const registered = [...state.workers.values()]
    .filter(({ adminState, recycleAsked }) => adminState !== 'active' || recycleAsked)
    .map(({ id, adminState, recycleAsked }) => ({ id, adminState, recycleAsked }));
  return { workers: [...kept, ...registered].sort(byId), paused: [...state.paused].sort() };
}

export function orders(state: MemoryState, id: string): WorkerOrders {
  const known = state.workers.get(id);
  return {
    adminState: known?.adminState ?? state.keptAdminStates.get(id) ?? 'active',
    recycleAsked: known?.recycleAsked ?? false,
    paused: [...state.paused].sort(),
  };
}

export function unregister(state: MemoryState, id: string, incarnation: string): void {
  const known = state.workers.get(id);
  if (known?.incarnation !== incarnation) return;
  state.workers.set(id, { ...known, heartbeatAtMs: state.now(), gone: true });
}

export function workers(state: MemoryState): WorkerRecord[] {
  const nowMs = state.now();
  return [...state.workers.values()].sort(byId).map(({ disconnectedAtMs, ...worker }) => ({
    ...structuredClone(worker),
    silentForMs: nowMs - worker.heartbeatAtMs,
    disconnectedForMs: disconnectedAtMs === null ? null : nowMs - disconnectedAtMs,
  }));
}

export function changeWorker(
  state: MemoryState,
  id: string,
  { change, audit }: { readonly change: WorkerChange; readonly audit: NewAuditEntry },
): WorkerChangeOutcome {
  const known = state.workers.get(id);
  const result = known === undefined ? changeForgotten(state, id, change) : carryOut(state, known, change);
  noteAudit(state, audit, result);
  return result;
}

export function noteAudit(state: MemoryState, audit: NewAuditEntry, result: string): void {
  if (state.audit.some((entry) => entry.id === audit.id)) return;
  state.audit.push({ ...audit, atMs: state.now(), result });
}

function carryOut(state: MemoryState, known: MemoryWorker, change: WorkerChange): WorkerChangeOutcome {
  switch (change.kind) {
    case 'admin-state':
      state.workers.set(known.id, { ...known, adminState: change.adminState });
      return 'done';
    case 'recycle':
      state.workers.set(known.id, { ...known, recycleAsked: true });
      return 'done';
    case 'forget':
      if (!known.gone && state.now() - known.heartbeatAtMs < change.silentForMs) return 'alive';
      state.workers.delete(known.id);
      return 'done';
  }
}

/** Of what was forgotten, only the state that operators want of it is left to be changed. */
function changeForgotten(state: MemoryState, id: string, change: WorkerChange): WorkerChangeOutcome {
  if (change.kind === 'recycle' || !state.keptAdminStates.delete(id)) return 'not-found';
  if (change.kind === 'admin-state' && change.adminState !== 'active')
    state.keptAdminStates.set(id, change.adminState);
  return 'done';
}

export function forgetSilent(state: MemoryState, id: string, heartbeatAtMs: number): boolean {
  const known = state.workers.get(id);
  if (known?.heartbeatAtMs !== heartbeatAtMs) return false;
  forgetWorker(state, known);
  return true;
}

/** What an operator wanted of it outlives the registration. */
export function forgetWorker(state: MemoryState, { id, adminState }: MemoryWorker): void {
  state.workers.delete(id);
  if (adminState !== 'active') state.keptAdminStates.set(id, adminState);
}

export function audit(state: MemoryState, { limit, after }: AuditPageRequest): AuditEntry[] {
  const isBelow = (entry: AuditEntry): boolean =>
    after === undefined || entry.atMs < after.atMs || (entry.atMs === after.atMs && entry.id < after.id);
  return state.audit
    .filter(isBelow)
    .sort((a, b) => b.atMs - a.atMs || byId(b, a))
    .slice(0, limit);
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
