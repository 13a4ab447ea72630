import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface FoundChrome {
  /** Absolute. */
  readonly executable: string;
  /** For the log and for `doctor`: `CHROME_PATH`, `chromium-headless-shell`, … */
  readonly source: string;
  /** Where libraries are that the machine does not have; null: on the machine. */
  readonly libraries: string | null;
}

/**
 * The names it goes by on a machine, the smaller first. Debian's `/usr/bin/chromium` is a script that adds flags of its own,
 * so the program behind it comes first.
 */
const paths: readonly string[] = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/lib/chromium/chromium',
  '/usr/lib64/chromium-browser/chromium-browser',
];
const names: readonly string[] = [
  'chrome-headless-shell',
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'microsoft-edge-stable',
  'microsoft-edge',
];

/** By `CHROME_PATH`, else on this machine; null when there is none. What `CHROME_PATH` names is not looked at here. */
export function findChrome(chromePath: string | null): FoundChrome | null {
  if (chromePath !== null) return { executable: chromePath, source: 'CHROME_PATH', libraries: null };
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates = [...paths, ...names.flatMap((name) => folders.map((folder) => join(folder, name)))];
  const executable = candidates.find(isExecutable);
  return executable === undefined ? null : { executable, source: executable, libraries: null };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Not there, or not for us.
    return false;
  }
}
