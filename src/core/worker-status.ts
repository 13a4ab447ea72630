/*
 * What is said of a worker, from what is known: three fields that are never mixed (is it alive, may it get work, what do
 * operators want), and one word for people. Nothing destructive reads the word.
 */

export type WorkerStatusWord = 'offline' | 'stale' | 'active' | 'drain' | 'standby';

export interface WorkerFacts {
  readonly adminState: 'active' | 'drain' | 'standby';
  /** Lifecycle state in capitals. */
  readonly state: string;
  /** It said goodbye. */
  readonly gone: boolean;
  readonly silentForMs: number;
  /** Since its socket was closed; null: it is connected, or on a storage link. */
  readonly disconnectedForMs: number | null;
}

export interface WorkerHealth {
  /** Heard within `WORKER_TTL`, and no goodbye since. */
  readonly alive: boolean;
  /** It may get work now: alive, connected, RUNNING, and no operator is against it. */
  readonly routable: boolean;
  /** `offline`: said goodbye, or not heard for `WORKER_TTL`. `stale`: not heard for three heartbeats, or its socket closed for 5 s. Else what operators want of it. */
  readonly status: WorkerStatusWord;
}

const missedBeats = 3;
/** A socket that comes back sooner was never worth a word. */
const staleDisconnectedMs = 5_000;

export function workerHealth(
  { adminState, state, gone, silentForMs, disconnectedForMs }: WorkerFacts,
  { heartbeatMs, ttlMs }: { readonly heartbeatMs: number; readonly ttlMs: number },
): WorkerHealth {
  const alive = !gone && silentForMs < ttlMs;
  const isSilent = silentForMs >= missedBeats * heartbeatMs;
  const isStale = isSilent || (disconnectedForMs ?? 0) >= staleDisconnectedMs;
  return {
    alive,
    routable:
      alive && !isStale && disconnectedForMs === null && state === 'RUNNING' && adminState !== 'drain',
    status: !alive ? 'offline' : isStale ? 'stale' : adminState,
  };
}
