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
}

export interface WorkerHealth {
  /** Heard within `WORKER_TTL`, and no goodbye since. */
  readonly alive: boolean;
  /** It may get work now: alive, RUNNING, and no operator is against it. */
  readonly routable: boolean;
  /** `offline`: said goodbye, or not heard for `WORKER_TTL`. `stale`: not heard for three heartbeats. Else what operators want of it. */
  readonly status: WorkerStatusWord;
}

const missedBeats = 3;

export function workerHealth(
  { adminState, state, gone, silentForMs }: WorkerFacts,
  { heartbeatMs, ttlMs }: { readonly heartbeatMs: number; readonly ttlMs: number },
): WorkerHealth {
  const alive = !gone && silentForMs < ttlMs;
  const isStale = silentForMs >= missedBeats * heartbeatMs;
  return {
    alive,
    routable: alive && !isStale && state === 'RUNNING' && adminState !== 'drain',
    status: !alive ? 'offline' : isStale ? 'stale' : adminState,
  };
}
