import type { Lease } from '../../storage/claimed-job.js';
import type { Storage } from '../../storage/storage.js';
import type { HubContext } from '../hub-context.js';

const batch = 1_000;

/** Gives jobs back, uncharged, in their old place. Rejects as storage does; what is left then lapses, or is compared again. */
export async function putBack(
  { metrics, logger }: Pick<HubContext, 'metrics' | 'logger'>,
  storage: Storage,
  leases: readonly Lease[],
  reason: string,
): Promise<void> {
  for (let from = 0; from < leases.length; from += batch) {
    const some = leases.slice(from, from + batch);
    const outcomes = await storage.settle(
      some.map(({ id, token }) => ({ id, token, kind: 'put-back', delayMs: 0, reason })),
    );
    const done = outcomes.filter((outcome) => outcome === 'done').length;
    if (done > 0) metrics.putBacks.add(reason, done);
    logger.info(`put back jobs: ${reason}`, { jobs: done, first: some[0]?.id });
  }
}
