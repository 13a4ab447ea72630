import type { SettingName } from '../internal/settings.js';

/** The settings that `work` and `flush` take as flags. */
export const workerSettingNames: readonly SettingName[] = [
  'queue',
  'concurrency',
  'maxExecutionTime',
  'stopTimeout',
  'killGrace',
  'workerSleep',
  'heartbeat',
  'staleTimeout',
  'databaseTimeout',
  'logLevel',
  'logFormat',
];
