import { setTimeout as delay } from 'node:timers/promises';
import { aborted } from '../internal/aborted.js';
import { isMillraceError } from '../internal/errors.js';
import type { Logger } from '../internal/logger.js';
import { OutageLog } from '../internal/outage-log.js';
import type { Storage } from '../storage/storage.js';

const maxBackoffMs = 15_000;
const firstBackoffMs = 200;

/**
 * Opens storage, trying again for ever where waiting may help; what waiting can't cure is thrown at once. The signal ends
 * it at once too, also while a server that says nothing is being waited for.
 */
export async function openStoragePatiently(
  open: () => Promise<Storage>,
  logger: Logger,
  signal: AbortSignal,
): Promise<Storage> {
  const outage = new OutageLog();
  for (;;) {
    signal.throwIfAborted();
    try {
      const storage = await beforeAbort(open(), signal);
      const tries = outage.worked();
      if (tries > 0) logger.info('storage is open', { tries: tries + 1 });
      return storage;
    } catch (error) {
      if (!isMillraceError(error) || !error.retryable) throw error;
      const waitMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** outage.failures) * Math.random();
      if (outage.failed(error.code)) {
        const tries = outage.failures;
        logger.warn('storage does not open, trying again', { error, tries, waitMs: Math.round(waitMs) });
      }
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** What is no longer waited for may still fail; that is then nobody's. */
async function beforeAbort<T>(opening: Promise<T>, signal: AbortSignal): Promise<T> {
  using wait = aborted(signal);
  opening.catch(() => undefined);
  await Promise.race([opening, wait.fired]);
  signal.throwIfAborted();
  return await opening;
}
