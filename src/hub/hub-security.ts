import type { Storage } from '../storage/storage.js';
import type { AuthStorage, HubAuth } from './auth/hub-auth.js';
import type { Authenticate } from './hub-context.js';

/** The part of storage that knows who may what, of a storage that is opened yet. */
export function authStorage(storage: () => Promise<Storage>): AuthStorage {
  return {
    tokens: async () => await (await storage()).tokens(),
    noteAudit: async (entry, result) => await (await storage()).noteAudit(entry, result),
    takeDuty: async (name, holder, ttlMs) => await (await storage()).takeDuty(name, holder, ttlMs),
    releaseDuty: async (name, holder) => await (await storage()).releaseDuty(name, holder),
  };
}

/** How workers are let in: by their token, for as long as that holds. */
export function workerAdmission(auth: HubAuth): Authenticate {
  return async (token, address) => {
    const known = await auth.authenticate(token, address);
    return known.ok ? { ok: true, hold: (onEnd) => auth.hold(known.identity, onEnd) } : known;
  };
}
