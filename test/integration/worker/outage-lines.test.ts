import { expect, it } from 'vitest';
import { MillraceError } from '../../../src/internal/errors.js';
import { Duties } from '../../../src/maintenance/duties.js';
import { MemoryStorage } from '../../../src/storage/memory/storage.js';
import { LinkControl } from '../../../src/worker/link/link-control.js';
import { waitFor } from '../../support/wait-for.js';
import { workerReport } from '../../support/worker-report.js';

/** At once, and on a machine that is very slow after ten seconds again. */
const mostTold = 3;

const nothing = (): void => undefined;

it('a heartbeat that goes on failing is told once, and once more when it works again', async () => {
  const storage = new MemoryStorage();
  await storage.open();
  let isAway = true;
  let tries = 0;
  const renew = storage.renew.bind(storage);
  storage.renew = (incarnation, leaseMs) => {
    tries += 1;
    return isAway
      ? Promise.reject(new MillraceError('database-unreachable', 'nobody answers'))
      : renew(incarnation, leaseMs);
  };
  const lines: string[] = [];
  const listener = {
    onRegistered: nothing,
    onSnapshot: nothing,
    onClockSkew: nothing,
    onAdminState: nothing,
    onRecycleAsked: nothing,
    onLog: (_level: string, message: string) => void lines.push(message),
  };
  const settings = { leaseMs: 45_000, heartbeatMs: 50, controlMs: 60_000, ttlMs: 120_000 };
  const identity = workerReport({ id: 'w', incarnation: '0123456789abcdef' });
  const link = new LinkControl(storage, identity, settings, listener, () => 0);
  try {
    await link.start();
    await waitFor(() => tries > 20, { describe: 'twenty tries', deadlineMs: 20_000 });
    isAway = false;
    await waitFor(() => lines.includes('heartbeat: storage answers again'), {
      describe: 'the heartbeat to work again',
      deadlineMs: 20_000,
    });
  } finally {
    await link.stop(5_000);
    await storage.close();
  }
  expect(lines.filter((line) => line === 'heartbeat failed, trying again').length).toBeLessThanOrEqual(
    mostTold,
  );
  expect(lines).toContain('heartbeat failed, trying again');
});

it('a duty that goes on failing is told once, keeps none of the others, and is told when it works again', async () => {
  const storage = new MemoryStorage();
  await storage.open();
  let isAway = true;
  let tries = 0;
  const releaseBlocked = storage.releaseBlocked.bind(storage);
  storage.releaseBlocked = (limit) => {
    tries += 1;
    return isAway
      ? Promise.reject(new MillraceError('database-unreachable', 'nobody answers'))
      : releaseBlocked(limit);
  };
  const lines: string[] = [];
  const note = (message: string): void => void lines.push(message);
  const times = {
    leaseMs: 750,
    retentionMs: 1e9,
    logRetentionMs: 1e9,
    staleReapMs: 1e9,
    reapIntervalMs: 1e6,
  };
  const logger = { debug: note, info: note, warn: note, error: note };
  const duties = new Duties({ storage, holder: '0123456789abcdef', ...times, logger });
  try {
    await duties.start();
    await waitFor(() => tries > 8, { describe: 'eight tries', deadlineMs: 20_000 });
    isAway = false;
    await waitFor(() => lines.includes('duty release works again'), {
      describe: 'the duty to work again',
      deadlineMs: 20_000,
    });
  } finally {
    await duties.stop({ deadlineMs: 5_000 });
    await storage.close();
  }
  const told = lines.filter((line) => line === 'duty release failed, trying again at its next turn');
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThanOrEqual(mostTold);
  expect(lines.filter((line) => /^duty (?!release)/.test(line))).toEqual([]);
});
