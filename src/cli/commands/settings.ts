import { maskUrl } from '../../internal/logger.js';
import {
  settings as registry,
  resolvedName,
  type SettingName,
  settingNames,
} from '../../internal/settings.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import type { Column } from '../output/table.js';
import { type Setup, setUp } from '../session.js';
import { flagOf } from '../worker-settings.js';

interface SettingRow {
  readonly name: SettingName;
  readonly value: string;
  readonly source: string;
  readonly env: string;
  /** Null where no command takes one. */
  readonly flag: string | null;
  readonly meaning: string;
}

const columns: readonly Column<SettingRow>[] = [
  { title: 'SETTING', value: ({ name }) => name, shrinkTo: 14 },
  { title: 'VALUE', value: ({ value }) => value, shrinkTo: 12 },
  {
    title: 'SOURCE',
    expendable: 1,
    value: ({ source }) => source,
    paint: ({ source }, style) => (source === 'default' ? style.dim : style.active),
  },
  { title: 'ENVIRONMENT', expendable: 2, value: ({ env }) => env },
];

export const settings: CommandSpec = {
  name: 'settings',
  summary: 'show every setting in force and where it comes from',
  details: 'A flag goes before the environment, that before the config file, and that before the default.',
  examples: ['millrace settings', 'MILLRACE_CONCURRENCY=50 millrace settings --json'],
  async run(context) {
    const { terminal } = context;
    const setup = await setUp(context);
    const rows = settingNames.map((name) => rowOf(name, setup));
    const config = setup.config?.file ?? null;
    const { warnings } = setup.settings;
    terminal.answer({ config, settings: rows, warnings }, () => {
      terminal.line(config === null ? 'config: none found from here upward' : `config: ${config}`);
      terminal.line();
      terminal.table(rows, columns);
    });
    for (const warning of warnings) terminal.note(`warning: ${warning}`);
    return exitCodes.ok;
  },
};

function rowOf(name: SettingName, { settings: resolved }: Setup): SettingRow {
  const { env, meaning, format } = registry[name] as {
    env: string;
    meaning: string;
    format(value: unknown): string;
  };
  return {
    name,
    value: maskUrl(format((resolved.values as Readonly<Record<string, unknown>>)[resolvedName(name)])),
    source: resolved.sources[name],
    env,
    flag: flagOf(name),
    meaning,
  };
}
