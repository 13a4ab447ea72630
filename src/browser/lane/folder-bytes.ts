import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A profile has some hundred entries; what a job writes beyond this many is not waited for. */
const mostEntries = 20_000;
const blockBytes = 512;

/** What a folder takes of its disk, links not followed; what goes while it is read counts as gone. */
export async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  let left = mostEntries;
  const open = [folder];
  for (let next = open.pop(); next !== undefined && left > 0; next = open.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.slice(0, left)) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) open.push(path);
      bytes += await lstat(path).then(
        ({ blocks }) => blocks * blockBytes,
        () => 0,
      );
    }
    left -= entries.length;
  }
  return bytes;
}
