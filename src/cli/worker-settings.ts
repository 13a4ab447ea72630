import { type SettingName, settingFlag } from '../internal/settings.js';
import { hubSettingNames } from './hub-settings.js';

/** The settings that `work` and `flush` take as flags. */
export const workerSettingNames: readonly SettingName[] = [
  'queue',
  'concurrency',
  'processLanes',
  'browserLanes',
  'labels',
  'maxExecutionTime',
  'stopTimeout',
  'killGrace',
  'blockedTimeout',
  'workerSleep',
  'heartbeat',
  'staleTimeout',
  'databaseTimeout',
  'logLevel',
  'logFormat',
];

/** The flag of a setting, where a command takes one; null for those of the environment and the config alone. */
export function flagOf(name: SettingName): string | null {
  const taken = ['database', 'hubUrl', ...workerSettingNames, ...hubSettingNames];
  const isFlag = taken.includes(name);
  return isFlag ? settingFlag(name) : null;
}
