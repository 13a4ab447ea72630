import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempDir extends AsyncDisposable {
  readonly path: string;
  /** A path inside the folder. */
  file(...parts: string[]): string;
}

/** A folder of its own for one test, removed with `await using dir = tempDir()`. */
export function tempDir(label = 'test'): TempDir {
  const path = mkdtempSync(join(tmpdir(), `millrace-${label}-`));
  return {
    path,
    file: (...parts) => join(path, ...parts),
    // Retries: a process that is just going down may still create a file in it.
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  };
}
