import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { MillraceError } from '../internal/errors.js';

/** In this order within a folder. */
export const configNames = [
  'millrace.config.ts',
  'millrace.config.mts',
  'millrace.config.js',
  'millrace.config.mjs',
] as const;

/** The config file to use: the one named, else the first found from `cwd` upward, else null. */
export function findConfig(cwd: string, named: string | undefined): string | null {
  if (named !== undefined) {
    const file = resolve(cwd, named);
    if (isFile(file)) return file;
    throw new MillraceError('usage-invalid', `--config: expected a file, there is none at ${file}`, {
      details: { file },
    });
  }
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const found = configNames.map((name) => join(folder, name)).find(isFile);
    if (found !== undefined) return found;
    if (dirname(folder) === folder) return null;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Not there, or in a folder that may not be looked into.
    return false;
  }
}
