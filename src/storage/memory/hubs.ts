import type { HeldLease } from '../claimed-job.js';
import { incarnationOf } from '../claimed-job.js';
import { type HubRecord, type HubReport, hubKeptMs } from '../hub-record.js';
import { byId, type MemoryState } from './state.js';

export function hubBeat(state: MemoryState, hub: HubReport): void {
  const heartbeatAtMs = state.now();
  const startedAtMs = state.hubs.get(hub.id)?.startedAtMs ?? heartbeatAtMs;
  state.hubs.set(hub.id, { ...structuredClone(hub), startedAtMs, heartbeatAtMs });
}

export function hubs(state: MemoryState): HubRecord[] {
  const nowMs = state.now();
  return [...state.hubs.values()]
    .map((hub) => ({ ...structuredClone(hub), silentForMs: nowMs - hub.heartbeatAtMs }))
    .filter(({ silentForMs }) => silentForMs < hubKeptMs)
    .sort(byId);
}

export function removeHub(state: MemoryState, id: string): void {
  state.hubs.delete(id);
}

export function purgeHubs(state: MemoryState, limit: number): number {
  const silent = [...state.hubs.values()].filter(
    ({ heartbeatAtMs }) => state.now() - heartbeatAtMs >= hubKeptMs,
  );
  for (const { id } of silent.slice(0, limit)) state.hubs.delete(id);
  return Math.min(silent.length, limit);
}

/** Stop requests in one answer. */
const mostRequests = 1_000;

export function stopRequests(state: MemoryState, incarnations: readonly string[]): HeldLease[] {
  const asked = new Set(incarnations);
  const found: HeldLease[] = [];
  for (const { id, lease } of state.processing.values()) {
    if (lease === null || lease.stopRequest === null || !asked.has(incarnationOf(lease.token))) continue;
    found.push({ id, token: lease.token, stopRequest: lease.stopRequest });
    if (found.length === mostRequests) break;
  }
  return found;
}
