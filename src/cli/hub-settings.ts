import type { SettingName } from '../internal/settings.js';

/** The settings that `hub` and `up` take as flags, beside those of a worker. */
export const listenSettingNames: readonly SettingName[] = ['hubHost', 'hubPort'];

/** The settings that `hub` takes as flags. */
export const hubSettingNames: readonly SettingName[] = [
  ...listenSettingNames,
  'workerSleep',
  'heartbeat',
  'staleTimeout',
  'databaseTimeout',
  'logLevel',
  'logFormat',
];
