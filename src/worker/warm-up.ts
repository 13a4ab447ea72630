import { withDeadline } from '../internal/deadline.js';
import type { Logger } from '../internal/logger.js';

/** A start waits no longer for its lanes. */
const warmMs = 10_000;

export interface WarmUpOptions {
  readonly workerId: string;
  readonly logger: Logger;
  /** The start is called off. */
  readonly givenUp: Promise<unknown>;
}

/** What takes longer joins when it is well: inline jobs need not wait for it. */
export async function untilWarm(
  lanesReady: Promise<void>,
  { workerId, logger, givenUp }: WarmUpOptions,
): Promise<void> {
  try {
    await withDeadline(Promise.race([lanesReady, givenUp]), { ms: warmMs, name: 'start of the lanes' });
  } catch {
    logger.warn('lanes are not ready yet; the worker begins without them', {
      worker: workerId,
      waitedMs: warmMs,
    });
  }
}
