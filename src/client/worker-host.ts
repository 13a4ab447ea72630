import { heartbeatIntervalMs, type SettingValues } from '../internal/settings.js';
import { fileSettings } from '../storage/files/create-keeper.js';
import type { ClientCore } from './client-core.js';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const megabyte = 1024 ** 2;

/** A worker's settings, from those of the client. */
export function workerSettings(settings: SettingValues) {
  return {
    leaseMs: settings.staleTimeoutMs,
    heartbeatMs: heartbeatIntervalMs(settings),
    pollMs: settings.workerSleepMs,
    killGraceMs: settings.killGraceMs,
    stopTimeoutMs: settings.stopTimeoutMs,
    workerTtlMs: settings.workerTtlMs,
    staleReapMs: settings.staleReapMs,
    reapIntervalMs: settings.reapIntervalMs,
    retentionMs: settings.retentionDays * dayMs,
    logRetentionMs: settings.logRetentionDays * dayMs,
    maxPayloadBytes: settings.maxPayloadBytes,
    files: fileSettings(settings),
    lanes: settings,
    budgets: { queues: settings.queueCostBudgets, groups: settings.groupCostBudgets },
    values: settings,
    admission: {
      asksProfiles: settings.resourceAdmission === 'on',
      asksSystem: settings.resourceSystemMemoryAwareness === 'on',
      profileWindowMs: settings.resourceProfileWindowMinutes * minuteMs,
      profileTtlMs: settings.resourceProfileTtlMs,
      memoryHeadroomBytes: settings.resourceMemoryHeadroomMb * megabyte,
      systemMemoryHeadroomBytes: settings.resourceSystemMemoryHeadroomMb * megabyte,
      timeHeadroomMs: settings.resourceTimeHeadroomMs,
    },
  };
}

/** How another thread of this process opens the same database; null where it can't. */
export function reopenable({ options, settings }: ClientCore): {
  readonly url: string;
  readonly storageOptions: Readonly<Record<string, unknown>>;
} | null {
  const { database, clock } = options;
  // A clock is a function of this thread, and a storage of the user's own an object of it.
  if (typeof database !== 'string' || clock !== undefined) return null;
  return { url: database, storageOptions: { statementTimeoutMs: settings.databaseTimeoutMs } };
}
