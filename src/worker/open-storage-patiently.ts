import { setTimeout as delay } from 'node:timers/promises';
import { isMillraceError } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import type { Storage } from '../storage/storage.js';

const maxBackoffMs = 15_000;
const firstBackoffMs = 200;

/** Opens storage, trying again for ever where waiting may help; what waiting can't cure is thrown at once. */
export async function openStoragePatiently(
  open: () => Promise<Storage>,
  logger: Logger,
  signal: AbortSignal,
): Promise<Storage> {
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    try {
      return await open();
    } catch (error) {
      if (!isMillraceError(error) || !error.retryable) throw error;
      const waitMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** tries) * Math.random();
      logger.warn('storage does not open, trying again', {
        error,
        tries: tries + 1,
        waitMs: Math.round(waitMs),
      });
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
