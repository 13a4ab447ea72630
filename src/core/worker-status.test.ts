import { expect, test } from 'vitest';
import { type WorkerFacts, workerHealth } from './worker-status.js';

const rhythm = { heartbeatMs: 15_000, ttlMs: 120_000 };
const well: WorkerFacts = {
  adminState: 'active',
  state: 'RUNNING',
  gone: false,
  silentForMs: 1_000,
  disconnectedForMs: null,
};

test.each<[string, Partial<WorkerFacts>, string, boolean, boolean]>([
  ['well', {}, 'active', true, true],
  ['on standby', { adminState: 'standby' }, 'standby', true, true],
  ['drained by an operator', { adminState: 'drain', state: 'DRAINING' }, 'drain', true, false],
  ['on its way to an end', { state: 'DRAINING' }, 'active', true, false],
  ['without its database', { state: 'RECONNECTING' }, 'active', true, false],
  ['silent for three heartbeats', { silentForMs: 45_000 }, 'stale', true, false],
  ['without its socket for a moment', { disconnectedForMs: 4_999 }, 'active', true, false],
  ['without its socket for 5 s', { disconnectedForMs: 5_000 }, 'stale', true, false],
  ['silent for longer than its time', { silentForMs: 120_000 }, 'offline', false, false],
  ['gone', { gone: true, state: 'EXIT' }, 'offline', false, false],
])('a worker that is %s', (_what, facts, status, alive, routable) => {
  expect(workerHealth({ ...well, ...facts }, rhythm)).toEqual({ status, alive, routable });
});
