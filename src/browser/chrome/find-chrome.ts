import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface FoundChrome {
  /** Absolute. */
  readonly executable: string;
  /** For the log and for `doctor`: `CHROME_PATH`, its path, or the package it is of. */
  readonly source: string;
  /** Where libraries are that the machine does not have; null: on the machine. */
  readonly libraries: string | null;
}

/**
 * Where it is on a machine, the smaller first. Debian's `/usr/bin/chromium` is a script that adds flags of its own, so the
 * program behind it comes first.
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
const applications: readonly string[] = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
];

/** Those of this machine, in the order in which they are tried; not looked at beyond that they may be executed. */
export function chromesOnMachine(path: string = process.env['PATH'] ?? ''): FoundChrome[] {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  const named = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...new Set([...paths, ...named, ...applications])]
    .filter(isExecutable)
    .map((executable) => ({ executable, source: executable, libraries: null }));
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
