import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The program of a lane's child, or null where it is not at hand (a bundled application). Sources run by a test runner use the built file. */
export function laneFile(): string | null {
  // Bundled as CommonJS there is no import.meta.
  const url: string | undefined = import.meta.url;
  if (url === undefined) return null;
  const here = fileURLToPath(url);
  const file = here.endsWith('.ts')
    ? here.replace(/([\\/])src([\\/]worker[\\/]lanes[\\/]process[\\/]).*$/, '$1dist$2child/lane-child.js')
    : fileURLToPath(new URL('./child/lane-child.js', url));
  return existsSync(file) ? file : null;
}
