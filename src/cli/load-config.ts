import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParsedConfig, parseConfig } from '../client/define-config.js';
import { isMillraceError, MillraceError } from '../internal/errors.js';

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
  // Most of the time that a command takes to start, so only where there is a config.
  const { createJiti } = await import('jiti');
  const jiti = createJiti(import.meta.url, {
    alias: { millrace: fileURLToPath(new URL('../index.js', import.meta.url)) },
    interopDefault: true,
    moduleCache: true,
  });
  let module: unknown;
  try {
    module = await jiti.import(file);
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

function reasonOf(error: unknown): string {
  if (isMillraceError(error)) return error.message;
  if (!(error instanceof Error)) return String(error);
  // The parser puts an excerpt of the source below its first line.
  const [first = ''] = error.message.split('\n');
  return error.name === 'Error' ? first : `${error.name}: ${first}`;
}
