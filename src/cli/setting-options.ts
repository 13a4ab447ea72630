import { type Command, Option } from 'commander';
import { type SettingName, settingFlag, settings } from '../internal/settings.js';

/** Adds the flag of each of these settings; what it takes is checked when all settings are resolved. */
export function addSettingOptions(command: Command, names: readonly SettingName[]): void {
  for (const name of names) {
    const { meaning, env, unit } = settings[name];
    const [first = meaning] = meaning.split(/(?<=[.:]) /);
    command.addOption(
      new Option(`${settingFlag(name)} <${placeholder[unit]}>`, `${trimmed(first)} (${env})`),
    );
  }
}

const placeholder = {
  ms: 'duration',
  bytes: 'size',
  count: 'n',
  days: 'n',
  text: 'text',
  choice: 'word',
  list: 'names',
} as const;

function trimmed(sentence: string): string {
  return sentence.replace(/[.:]\s*$/, '');
}

/** Those of `names` that were given as flags. */
export function settingFlags(
  flags: Readonly<Record<string, unknown>>,
  names: readonly SettingName[],
): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, flags[keyOf(settingFlag(name))]]));
}

/** Under which commander hands out a flag. */
function keyOf(flag: string): string {
  return flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
