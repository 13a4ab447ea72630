import { expect, it } from 'vitest';
import { MillraceError } from '../internal/errors.js';
import { MemoryStorage } from '../storage/memory/storage.js';
import { openStoragePatiently } from './open-storage-patiently.js';

it('opens storage that is away again and again, and tells of it once', async () => {
  const lines: string[] = [];
  const note = (message: string): number => lines.push(message);
  const logger = { debug: note, info: note, warn: note, error: note };
  const storage = new MemoryStorage();
  let tries = 0;
  const open = (): Promise<MemoryStorage> => {
    tries += 1;
    return tries < 4
      ? Promise.reject(new MillraceError('database-unreachable', 'nobody answers'))
      : Promise.resolve(storage);
  };
  expect(await openStoragePatiently(open, logger, AbortSignal.timeout(30_000))).toBe(storage);
  expect(lines).toEqual(['storage does not open, trying again', 'storage is open']);
});
