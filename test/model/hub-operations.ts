import type { NewAccessToken } from '../../src/storage/access-token.js';
import type { NewAuditEntry } from '../../src/storage/audit.js';
import type { HubReport } from '../../src/storage/hub-record.js';
import type { Storage } from '../../src/storage/storage.js';
import type { WorkerReport } from '../../src/storage/worker-record.js';
import type { Random } from './random.js';
import { halfPast, type World } from './world.js';

/** An epoch as a distance from the one that stands: each storage counts from its own. */
export type PlannedEpoch = -1 | 0 | 1;

/** Calls that hubs make, and those about tokens. */
export type HubOperation =
  | { readonly method: 'beatOfConnection'; readonly report: WorkerReport; readonly epoch: PlannedEpoch }
  | {
      readonly method: 'noteDisconnected';
      readonly id: string;
      readonly incarnation: string;
      readonly epoch: PlannedEpoch;
    }
  | { readonly method: 'fleetOrders' | 'hubs' | 'tokens' }
  | { readonly method: 'stopRequests'; readonly incarnations: readonly string[] }
  | { readonly method: 'hubBeat'; readonly hub: HubReport }
  | { readonly method: 'removeHub' | 'token'; readonly id: string }
  | { readonly method: 'noteAudit'; readonly audit: NewAuditEntry; readonly result: string }
  | { readonly method: 'createToken'; readonly token: NewAccessToken; readonly audit: NewAuditEntry }
  | { readonly method: 'revokeToken'; readonly id: string; readonly audit: NewAuditEntry };

export const hubWeights: Readonly<Record<HubOperation['method'], number>> = {
  beatOfConnection: 1,
  noteDisconnected: 1,
  fleetOrders: 0.5,
  stopRequests: 1,
  hubBeat: 0.8,
  hubs: 0.5,
  removeHub: 0.3,
  noteAudit: 0.4,
  createToken: 0.8,
  token: 0.5,
  tokens: 0.5,
  revokeToken: 0.5,
};

export const isHubMethod = (method: string): method is HubOperation['method'] =>
  Object.hasOwn(hubWeights, method);

export function nextHubOperation(
  random: Random,
  world: World,
  { method, report }: { readonly method: HubOperation['method']; readonly report: WorkerReport },
): HubOperation {
  const epoch = random.pick<PlannedEpoch>([0, 0, 0, -1, 1]);
  switch (method) {
    case 'beatOfConnection':
      return { method, report, epoch };
    case 'noteDisconnected':
      return { method, id: report.id, incarnation: report.incarnation, epoch };
    case 'stopRequests':
      return { method, incarnations: random.some(world.incarnations) };
    case 'hubBeat':
      return { method, hub: aHub(random, world) };
    case 'removeHub':
      return { method, id: random.pick(world.hubs) };
    case 'token':
      return { method, id: random.pick(world.tokens) };
    case 'noteAudit':
      return {
        method,
        audit: anEntry(random, world, 'fleet.recycle'),
        result: random.pick(['done', 'failed']),
      };
    case 'createToken':
      return { method, token: aToken(random, world), audit: anEntry(random, world, method) };
    case 'revokeToken':
      return { method, id: random.pick(world.tokens), audit: anEntry(random, world, method) };
    case 'fleetOrders':
    case 'hubs':
    case 'tokens':
      return { method };
  }
}

function aHub(random: Random, world: World): HubReport {
  return {
    id: random.pick(world.hubs),
    host: 'host.example',
    pid: random.between(1, 9),
    version: '0.1.0',
    advertiseUrl: random.pick([null, 'http://hub.example:8000']),
    connections: random.int(100),
    details: random.pick([{}, { loopLagMs: 1.5, none: null }]),
  };
}

function aToken(random: Random, world: World): NewAccessToken {
  return {
    id: random.pick(world.tokens),
    secretHash: random.pick(['0a', 'ff']).repeat(32),
    role: random.pick(['admin', 'submit', 'read', 'worker']),
    name: random.pick(['ci', 'Zoë 😀']),
    validForMs: random.pick([null, halfPast(0), halfPast(10)]),
  };
}

function anEntry(random: Random, world: World, action: string): NewAuditEntry {
  const id = `${world.run}-0000-7000-8000-${String(random.int(40)).padStart(12, '0')}`;
  return { id, actor: 'ada', action, target: `${world.run}-target`, source: 'test' };
}

export async function makeHubCall(storage: Storage, operation: HubOperation): Promise<unknown> {
  switch (operation.method) {
    case 'beatOfConnection': {
      const { report, epoch } = operation;
      return storage.heartbeat(report, (await epochOf(storage, report.id)) + epoch);
    }
    case 'noteDisconnected': {
      const { id, incarnation, epoch } = operation;
      return storage.noteDisconnected(id, incarnation, (await epochOf(storage, id)) + epoch);
    }
    case 'stopRequests':
      return storage.stopRequests(operation.incarnations);
    case 'hubBeat':
      return storage.hubBeat(operation.hub);
    case 'removeHub':
    case 'token':
      return storage[operation.method](operation.id);
    case 'noteAudit':
      return storage.noteAudit(operation.audit, operation.result);
    case 'createToken':
      return storage.createToken(operation.token, operation.audit);
    case 'revokeToken':
      return storage.revokeToken(operation.id, operation.audit);
    case 'fleetOrders':
    case 'hubs':
    case 'tokens':
      return storage[operation.method]();
  }
}

async function epochOf(storage: Storage, id: string): Promise<number> {
  return (await storage.workers()).find((worker) => worker.id === id)?.connectionEpoch ?? 7;
}
