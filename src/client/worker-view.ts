import { heartbeatIntervalMs, type SettingValues } from '../internal/settings.js';
import type { AdminState, WorkerRecord } from '../storage/worker-record.js';

/** A registered worker. Times are of the database's clock. */
export interface WorkerListing extends Omit<WorkerRecord, 'startedAtMs' | 'heartbeatAtMs' | 'gone'> {
  /** `offline`: said goodbye, or silent for `WORKER_TTL`. `stale`: silent for three heartbeats. Else what operators want of it. */
  readonly status: 'offline' | 'stale' | AdminState;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
}

const missedBeats = 3;

export function toWorkerListing(record: WorkerRecord, settings: SettingValues): WorkerListing {
  const { startedAtMs, heartbeatAtMs, gone, ...rest } = record;
  return {
    ...rest,
    status: statusOf(record, settings),
    startedAt: new Date(startedAtMs),
    heartbeatAt: new Date(heartbeatAtMs),
  };
}

function statusOf(
  { gone, silentForMs, adminState }: WorkerRecord,
  settings: SettingValues,
): WorkerListing['status'] {
  if (gone || silentForMs >= settings.workerTtlMs) return 'offline';
  return silentForMs >= missedBeats * heartbeatIntervalMs(settings) ? 'stale' : adminState;
}
