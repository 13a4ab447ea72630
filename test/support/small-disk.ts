import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Fills it up to this share of it with one file, which is there already from the call before, or makes room. */
  fillTo(share: number): void;
}

/** A file system of its own in memory; null where this user can't mount one. */
export function smallDisk(megabytes: number): SmallDisk | null {
  // Short: Chrome makes sockets below it.
  const path = mkdtempSync('/tmp/mr-');
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tmpfs', path], {
      stdio: 'ignore',
      timeout: 10_000,
    });
  } catch {
    // Not root, or a container without the right to mount.
    rmdirSync(path);
    return null;
  }
  const filler = join(path, 'filler');
  return {
    path,
    fillTo(share) {
      writeFileSync(filler, '');
      const { blocks, bfree, bsize } = statfsSync(path);
      const bytes = Math.floor(blocks * bsize * share - (blocks - bfree) * bsize);
      if (bytes > 0) writeFileSync(filler, Buffer.alloc(bytes, 1));
      else truncateSync(filler, 0);
    },
    async [Symbol.asyncDispose]() {
      execFileSync('umount', ['-l', path], { timeout: 10_000 });
      await rm(path, { recursive: true, force: true });
    },
  };
}
