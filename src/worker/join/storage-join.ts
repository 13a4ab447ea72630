import { hostname } from 'node:os';
import { MillraceError } from '../../internal/errors.js';
import type { Storage } from '../../storage/storage.js';
import { RegisteredNeighbours } from '../admission/neighbours.js';
import type { WorkerHost } from '../host.js';
import { openLink } from '../link/open-link.js';
import { openStoragePatiently } from '../open-storage-patiently.js';
import { StorageTurns } from '../recycle-turns.js';
import { registerPatiently } from '../registration.js';
import type { LoopPulse } from '../watchdog/loop-pulse.js';
import type { ResolvedWorkerOptions } from '../worker-options.js';
import type { Applicant, Join, Membership } from './join.js';

/** Over the worker's own connections to the database. */
export class StorageJoin implements Join {
  readonly #host: WorkerHost;
  readonly #options: ResolvedWorkerOptions;
  readonly #pulse: LoopPulse;
  #storage: Storage | null = null;

  constructor(host: WorkerHost, options: ResolvedWorkerOptions, pulse: LoopPulse) {
    this.#host = host;
    this.#options = options;
    this.#pulse = pulse;
  }

  async open(signal: AbortSignal): Promise<{ readonly isShared: boolean }> {
    this.#storage = await openStoragePatiently(() => this.#host.storage(), this.#host.logger, signal);
    return { isShared: this.#storage.capabilities.shared };
  }

  async register({ identity, status, ended, signal }: Applicant): Promise<Membership> {
    const storage = this.#storage;
    if (storage === null) throw new MillraceError('internal', 'registered before storage was open');
    const host = this.#host;
    const { logger } = host;
    const { leaseMs, workerTtlMs: ttlMs } = host.settings;
    const report = { ...identity, ...status, link: 'storage', hubId: null } as const;
    const { id, adminState } = await registerPatiently({
      storage,
      ttlMs,
      leaseMs,
      logger,
      signal,
      report,
      ended,
    });
    const { queues } = identity;
    return {
      ...{ id, adminState, storage, dispatch: host.dispatch, leaseMs: () => leaseMs },
      files: host.files,
      neighbours: new RegisteredNeighbours({ storage, workerId: id, host: hostname(), ttlMs, logger }),
      turns: new StorageTurns(storage, { workerId: id, queues, ttlMs }),
      backlog: null,
      createLink: (listener) =>
        openLink(host, storage, { ...identity, id }, this.#options, { pulse: this.#pulse, listener }),
    };
  }
}
