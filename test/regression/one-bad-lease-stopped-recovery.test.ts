import { expect, test } from 'vitest';
import { MillraceError } from '../../src/internal/errors.js';
import { silentLogger } from '../../src/internal/logger.js';
import { Rescuer } from '../../src/maintenance/rescuer.js';
import type { TakeBack } from '../../src/storage/settlement.js';
import type { Storage } from '../../src/storage/storage.js';
import { LEASE, Stage } from '../conformance/stage.js';
import { openEngine } from '../support/engines.js';

/** A page of leases was one call: a row that storage refused kept all that expired with it, and after it, from ever coming back. */
test('[memory] a lease that cannot be taken back keeps none of the others', async () => {
  await using engine = await openEngine('memory');
  const stage = new Stage('memory', () => engine);
  const ids = await stage.addMany('work', 300);
  await stage.claim('work', { limit: 300, start: 300 });
  engine.clock.advance(2 * LEASE);
  const bad = ids[7] ?? '';
  const { storage: inner } = engine;
  const storage = {
    expired: (request: Parameters<Storage['expired']>[0]) => inner.expired(request),
    serverUptimeMs: () => inner.serverUptimeMs(),
    takeBack: (decisions: readonly TakeBack[]) =>
      decisions.some(({ id }) => id === bad)
        ? Promise.reject(new MillraceError('query-failed', 'refused by a test'))
        : inner.takeBack(decisions),
  } as Storage;
  const logger = { ...silentLogger };
  const rescuer = new Rescuer({ storage, leaseMs: LEASE, logger, random: () => 0.5, monotonic: () => 0 });
  const report = await rescuer.sweep({ force: true });
  expect(report.retried).toEqual({ work: 299 });
  expect((await stage.statuses(ids)).filter((status) => status === 'processing')).toHaveLength(1);
});
