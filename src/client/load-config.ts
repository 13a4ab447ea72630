import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMillraceError, MillraceError } from '../internal/errors.js';
import { type ParsedConfig, parseConfig } from './define-config.js';

export interface LoadedConfig extends ParsedConfig {
  readonly file: string;
  readonly folder: string;
}

/**
 * Runs the config file, TypeScript included, without a build step. `import … from 'millrace'` in it and in the modules it
 * loads is this very package, so that a config also works where the command was started without being installed.
 *
 * @throws MillraceError `config-invalid`, naming the file and what it met
 */
export async function loadConfig(file: string): Promise<LoadedConfig> {
  let module: unknown;
  try {
    module = await importConfig(file);
  } catch (error) {
    throw new MillraceError('config-invalid', `${file} cannot be loaded: ${reasonOf(error)}`, {
      details: { file },
      cause: error,
    });
  }
  const config =
    typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  if (config === undefined) {
    throw new MillraceError(
      'config-invalid',
      `${file}: expected a default export, there is none. Write: export default defineConfig({ … })`,
      { details: { file } },
    );
  }
  return { ...parseConfig(config, file), file, folder: dirname(file) };
}

/**
 * The module of a file, TypeScript included; rejects with what it met. What is compiled is kept in a folder, by default in
 * that for temporary files.
 */
export async function importConfig(file: string, cacheFolder: string | true = true): Promise<unknown> {
  // Most of the time that a command takes to start, so only where there is a config.
  const { createJiti } = await import('jiti');
  const jiti = createJiti(import.meta.url, {
    alias: { millrace: fileURLToPath(new URL('../index.js', import.meta.url)) },
    fsCache: cacheFolder,
    interopDefault: true,
    moduleCache: true,
  });
  return await jiti.import(file);
}

function reasonOf(error: unknown): string {
  if (isMillraceError(error)) return error.message;
  if (!(error instanceof Error)) return String(error);
  const [first = '', second = ''] = error.message.split('\n').map((line) => line.trim());
  // The parser's own name for its errors; below it the place, whose columns it counts from 0.
  const place = /^(\S.*:\d+):(\d+)$/.exec(second);
  if (place !== null) return `${place[1]}:${Number(place[2]) + 1}: ${first.replace(/^ParseError: /, '')}`;
  const [importer] = (error as { requireStack?: string[] }).requireStack ?? [];
  if (importer !== undefined) return `${first}, imported by ${importer}`;
  return error.name === 'Error' ? first : `${error.name}: ${first}`;
}
