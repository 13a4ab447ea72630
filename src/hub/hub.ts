/**
 * A hub: HTTP and the links of workers, over the database that all hubs share.
 *
 * It keeps nothing that another hub could not take up: connections, and what they were told. So it takes connections before
 * it has reached the database, and goes on through an outage of it; workers are told to say hello again.
 *
 * start: listen → open the database, for as long as it takes → placement, fleet watch, duties, sign of life
 * stop:  no new connections → every worker is told to go elsewhere (1012) → what was on its way is waited for, within bounds
 */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { MillraceError } from '../internal/errors.js';
import { Service } from '../internal/service.js';
import type { Storage } from '../storage/storage.js';
import { HubMetrics } from './hub-metrics.js';
import { type HubOptions, type ResolvedHubOptions, resolveHubOptions } from './hub-options.js';
import { HubRun } from './hub-run.js';
import type { RoundState } from './rounds.js';

/** What a hub knows of itself, for health and monitors. */
export interface HubHealth {
  readonly isStorageOpen: boolean;
  /** Sockets, welcomed or not. */
  readonly connections: number;
  /** Workers that may get jobs. */
  readonly workers: number;
  /** Workers whose socket was lost, and whose leases are renewed for them. */
  readonly absent: number;
  readonly rounds: readonly RoundState[];
  /** How often an invariant did not hold, by its name. */
  readonly alarms: Readonly<Record<string, number>>;
}

/**
 * Serves the HTTP API and the links of workers. Client and storage stay their owner's: they are not closed here.
 *
 * @example
 * await using hub = new Hub({ client: millrace, port: 8000 });
 * await hub.start();
 */
export class Hub extends Service {
  /** New for each object. */
  readonly id = `h-${randomBytes(4).toString('hex')}`;
  readonly metrics = new HubMetrics();
  readonly #options: ResolvedHubOptions;
  #run: HubRun | null = null;

  constructor(options: HubOptions) {
    super('hub');
    this.#options = resolveHubOptions(options);
  }

  /** `http://127.0.0.1:8000`; only while it runs. */
  get url(): string {
    const { address, family, port } = this.#address();
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  get port(): number {
    return this.#address().port;
  }

  /** Resolves once the database is open; rejects with what waiting can't cure, such as a schema that is missing. */
  async ready(): Promise<Storage> {
    return await this.#running().opened;
  }

  /** Whether a worker of this id is connected here. */
  isConnected(workerId: string): boolean {
    return this.#run?.roster.find(workerId) !== undefined;
  }

  get health(): HubHealth {
    const run = this.#run;
    return {
      isStorageOpen: run?.storage !== null && run !== null,
      connections: run?.link.sessions.size ?? 0,
      workers: run?.roster.size ?? 0,
      absent: run?.absentees.size ?? 0,
      rounds: run?.rounds.states ?? [],
      alarms: Object.fromEntries(this.metrics.alarms.entries),
    };
  }

  /**
   * Resolves once it listens, whatever state the database is in.
   *
   * @throws MillraceError `tokens-missing` beyond this machine while there is no token, `hub-not-listening`
   */
  protected override async doStart(): Promise<void> {
    const { metrics, id: hubId } = this;
    const run = new HubRun(this.#options, { hubId, metrics, health: () => this.health });
    this.#run = run;
    await run.listen();
    this.#options.logger.info(`hub: listening on ${this.url}`, { hub: this.id });
  }

  protected override async doStop(): Promise<void> {
    await this.#run?.stop();
    this.#run = null;
  }

  #running(): HubRun {
    if (this.#run === null) throw new MillraceError('closed', 'the hub does not run');
    return this.#run;
  }

  #address(): AddressInfo {
    const address = this.#running().app.server.address();
    if (address === null || typeof address === 'string')
      throw new MillraceError('closed', 'the hub does not listen');
    return address;
  }
}
