import { uuidv7 } from '../../src/internal/uuid.js';
import type { NewAccessToken } from '../../src/storage/access-token.js';
import type { NewAuditEntry } from '../../src/storage/audit.js';
import { hubReport } from '../support/hub-report.js';
import { workerReport } from '../support/worker-report.js';
import type { Arrange } from './fault-cases.js';
import { LEASE, type Stage } from './stage.js';

const entryOf = (target: string): NewAuditEntry => ({
  ...{ id: uuidv7(), actor: 'me', action: 'something', target, source: 'test' },
});
const tokenOf = (id: string): NewAccessToken => ({
  ...{ id, secretHash: 'ab'.repeat(32), role: 'worker', name: 'one', validForMs: null },
});

async function resultsOf(stage: Stage, target: string): Promise<string[]> {
  const written = await stage.storage.audit({ limit: 1_000 });
  return written.filter((entry) => entry.target === target).map(({ result }) => result);
}

/** What hubs write, and what is written of tokens. */
export const hubFaultCases: Record<string, Arrange> = {
  'heartbeat of a connection': async (stage, queue) => {
    const report = workerReport({ id: queue, incarnation: stage.incarnation() });
    const { epoch } = await stage.storage.register(report, LEASE);
    const ok = { outcome: 'ok', adminState: 'active' };
    return {
      call: (storage) => storage.heartbeat({ ...report, jobsDone: 5 }, epoch),
      look: async () => (await stage.storage.workers()).find(({ id }) => id === queue)?.jobsDone,
      answers: [ok, ok],
    };
  },
  noteDisconnected: async (stage, queue) => {
    const report = workerReport({ id: queue, incarnation: stage.incarnation() });
    const { epoch } = await stage.storage.register(report, LEASE);
    return {
      call: (storage) => storage.noteDisconnected(queue, report.incarnation, epoch),
      look: async () => {
        const found = (await stage.storage.workers()).find(({ id }) => id === queue);
        return found?.disconnectedForMs !== null;
      },
      answers: [true, true],
    };
  },
  hubBeat: (stage, queue) =>
    Promise.resolve({
      call: (storage) => storage.hubBeat(hubReport({ id: queue, connections: 3 })),
      look: async () =>
        (await stage.storage.hubs()).filter(({ id }) => id === queue).map(({ connections }) => connections),
    }),
  removeHub: async (stage, queue) => {
    await stage.storage.hubBeat(hubReport({ id: queue }));
    return {
      call: (storage) => storage.removeHub(queue),
      look: async () => (await stage.storage.hubs()).some(({ id }) => id === queue),
    };
  },
  noteAudit: (stage, queue) => {
    const entry = entryOf(queue);
    return Promise.resolve({
      call: (storage) => storage.noteAudit(entry, 'done'),
      look: () => resultsOf(stage, queue),
    });
  },
  createToken: (stage, queue) => {
    const entry = entryOf(queue);
    return Promise.resolve({
      call: (storage) => storage.createToken(tokenOf(queue), entry),
      look: async () => [(await stage.storage.token(queue))?.isValid, await resultsOf(stage, queue)],
      answers: ['done', 'done'],
    });
  },
  revokeToken: async (stage, queue) => {
    const entry = entryOf(queue);
    await stage.storage.createToken(tokenOf(queue), entryOf('another'));
    return {
      call: (storage) => storage.revokeToken(queue, entry),
      look: async () => [(await stage.storage.token(queue))?.isValid, await resultsOf(stage, queue)],
      answers: ['done', 'already-revoked'],
    };
  },
};
