import { basename, dirname, join } from 'node:path';

/**
 * Full Chrome makes a socket below its folder for temporary files, and the path of a socket holds 107 bytes, on macOS 103. With
 * `/lanes-<pid>-<6>/lane-<n>-<n>/tmp/org.chromium.Chromium.<6>/SingletonSocket` this much of it is left for the root.
 */
const longest = 32;

/** The folder itself, or, where its name is too long for what Chrome makes in it, one of the same name in /tmp. */
export function shortFolder(folder: string): string {
  return Buffer.byteLength(folder) <= longest || dirname(folder) === '/tmp'
    ? folder
    : join('/tmp', basename(folder));
}
