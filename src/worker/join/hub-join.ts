import { MillraceError } from '../../internal/errors.js';
import { servedQueues } from '../../internal/queue-selection.js';
import { poolNeighbours } from '../admission/neighbours.js';
import type { WorkerHost } from '../host.js';
import { HubFiles } from '../link/hub/hub-files.js';
import { HubLink } from '../link/hub/hub-link.js';
import type { HubLinkData } from '../link/hub/hub-link-messages.js';
import { type HubPort, LocalHubPort } from '../link/hub/hub-port.js';
import { HubTurns } from '../link/hub/hub-turns.js';
import { ThreadHubPort } from '../link/hub/thread-hub-port.js';
import { threadFile } from '../link/thread-keeper.js';
import { ownedProcess } from '../owned-process.js';
import { averageOf, profileWindowMs } from '../pool/pool-backlog.js';
import type { PoolBacklog } from '../pool/pool-messages.js';
import type { LoopPulse } from '../watchdog/loop-pulse.js';
import type { ResolvedWorkerOptions } from '../worker-options.js';
import type { Applicant, Join, Membership } from './join.js';

/** Over a connection to a hub, without any access to the database. */
export class HubJoin implements Join {
  readonly #host: WorkerHost;
  readonly #options: ResolvedWorkerOptions;
  readonly #pulse: LoopPulse;

  constructor(host: WorkerHost, options: ResolvedWorkerOptions, pulse: LoopPulse) {
    this.#host = host;
    this.#options = options;
    this.#pulse = pulse;
  }

  open(): Promise<{ readonly isShared: boolean }> {
    return Promise.resolve({ isShared: true });
  }

  async register({ identity, status, ended, signal }: Applicant): Promise<Membership> {
    const { logger, dispatchOver } = this.#host;
    // The thread watches the main loop from its birth on, however long it takes until a hub is there.
    this.#pulse.start();
    const port = this.#port(this.#data({ identity, ended }));
    const link = new HubLink({ port, workerId: identity.id, logger });
    const { id, adminState } = await link.join(status, signal);
    const { storage } = link;
    return {
      ...{ id, adminState, storage, dispatch: dispatchOver(storage), leaseMs: () => link.leaseMs },
      files: new HubFiles(link.client),
      neighbours: poolNeighbours(ownedProcess()?.poolWidth ?? 1),
      turns: new HubTurns(link.client),
      backlog: () => this.#backlog(link),
      createLink: (listener) => link.attach(listener),
    };
  }

  #data({ identity, ended }: Pick<Applicant, 'identity' | 'ended'>): HubLinkData {
    const hub = this.#options.hub;
    if (hub === null) throw new MillraceError('internal', 'a worker without a hub was to join one');
    const { incarnation, host, pid, version, queues, labels, concurrency, restarts } = identity;
    const handlers = [...this.#host.definitions].map(([name, { lane }]) => ({ name, lane }));
    return {
      ...hub,
      workerId: identity.id,
      facts: { incarnation, ended, host, pid, version, queues, handlers, labels, concurrency, restarts },
      heartbeatMs: this.#host.settings.heartbeatMs,
    };
  }

  async #backlog({ client, storage }: HubLink): Promise<PoolBacklog> {
    const { queues: selection } = this.#options;
    const queues = selection.order === 'all' ? null : servedQueues(selection);
    const except = selection.order === 'all' ? selection.except : [];
    const { claimable } = await client.request({ type: 'ask-backlog', queues, except }, 'backlog');
    const names = [...this.#host.definitions.keys()];
    return { claimable, averageMs: averageOf(await storage.profiles(names, profileWindowMs)) };
  }

  /** A thread where there can be one. */
  #port(data: HubLinkData): HubPort {
    const { logger } = this.#host;
    const file = threadFile('hub/hub-thread.js');
    if (file === null) {
      logger.warn(
        'the link runs on the main loop: a handler that blocks it for a lease loses its jobs to other workers',
        { why: 'the thread file is not beside this code (a bundle?)' },
      );
      return new LocalHubPort(data);
    }
    const watch = { memory: this.#pulse.memory, owned: ownedProcess() };
    return new ThreadHubPort(file, { ...data, watch }, (level, message, fields) =>
      logger[level](message, fields),
    );
  }
}
