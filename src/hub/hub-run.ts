/** One life of a hub, from start to stop: its parts, put together. */
import { hostname } from 'node:os';
import Fastify, { type FastifyInstance } from 'fastify';
import { withDeadline } from '../internal/deadline.js';
import { MillraceError } from '../internal/errors.js';
import { describeFailure } from '../internal/failure.js';
import { version } from '../internal/version.js';
import { Duties } from '../maintenance/duties.js';
import type { Storage } from '../storage/storage.js';
import { openStoragePatiently } from '../worker/open-storage-patiently.js';
import { apiServerOptions } from './api/problems.js';
import { registerApi } from './api/register-api.js';
import { checkListen } from './auth/check-listen.js';
import { HubAuth } from './auth/hub-auth.js';
import { serverOptions } from './auth/server-limits.js';
import { DatabaseClock } from './database-clock.js';
import { Absentees } from './fleet/absentees.js';
import { FleetWatch } from './fleet/fleet-watch.js';
import { Invariants } from './fleet/invariants.js';
import type { HubHealth } from './hub.js';
import type { HubContext } from './hub-context.js';
import type { HubMetrics } from './hub-metrics.js';
import type { ResolvedHubOptions } from './hub-options.js';
import { authStorage, workerAdmission } from './hub-security.js';
import type { LinkedWorker } from './link/linked-worker.js';
import { Roster } from './link/roster.js';
import { Upgrades } from './link/upgrades.js';
import { WorkerLink } from './link/worker-link.js';
import { listenOn } from './listen-on.js';
import { Placement } from './placement/placement.js';
import { Rounds } from './rounds.js';

/** How long sockets have to close, and what was on its way to arrive: together within 5 s. */
const closeMs = 3_000;
const lastWordsMs = 1_500;
const tickMs = 500;
const invariantsMs = 10_000;
const linkRoute = '/workers/:id/link';

export interface HubRunParts {
  readonly hubId: string;
  readonly metrics: HubMetrics;
  readonly health: () => HubHealth;
}

export class HubRun {
  readonly context: HubContext;
  readonly app: FastifyInstance;
  readonly roster = new Roster();
  readonly rounds: Rounds;
  readonly absentees: Absentees;
  readonly link: WorkerLink;
  /** Resolves once the database is open; rejects with what waiting can't cure. */
  readonly opened: Promise<Storage>;
  readonly #options: ResolvedHubOptions;
  readonly #health: () => HubHealth;
  readonly #auth: HubAuth;
  readonly #upgrades: Upgrades;
  readonly #fleet: FleetWatch;
  readonly #clock = new DatabaseClock();
  readonly #stopping = new AbortController();
  #open: (storage: Promise<Storage>) => void = () => undefined;
  #storage: Storage | null = null;
  #placement: Placement | null = null;
  #duties: Duties | null = null;
  #ticking: NodeJS.Timeout | null = null;

  constructor(options: ResolvedHubOptions, { hubId, metrics, health }: HubRunParts) {
    this.#options = options;
    this.#health = health;
    this.opened = new Promise((resolve) => {
      this.#open = resolve;
    });
    // Nobody need wait for it; whoever says hello is told.
    this.opened.catch(() => undefined);
    const { settings, logger, random, files, values, host, advertiseUrl, ownTokens: own } = options;
    const storage = authStorage(() => this.#soon());
    this.#auth = new HubAuth({ storage, settings: values, logger, host, advertiseUrl, own });
    this.context = {
      hubId,
      metrics,
      settings,
      logger,
      random,
      files,
      authenticate: workerAdmission(this.#auth),
      storage: () => this.#soon(),
      databaseNowMs: () => this.#clock.nowMs(),
    };
    const { context, roster } = this;
    this.rounds = new Rounds(logger);
    this.absentees = new Absentees(context);
    const { absentees } = this;
    const placement = (): Placement => this.placement;
    this.#fleet = new FleetWatch({ context, roster, onReleased: (worker) => placement().retry(worker) });
    this.link = new WorkerLink({ context, roster, absentees, fleet: this.#fleet, placement });
    this.#upgrades = new Upgrades({
      context,
      link: this.link,
      check: (request) => this.#auth.checkUpgrade(request),
    });
    this.app = Fastify({
      ...serverOptions(),
      ...apiServerOptions(logger),
      forceCloseConnections: true,
      return503OnClosing: true,
    });
  }

  get storage(): Storage | null {
    return this.#storage;
  }

  /** Of an open storage. */
  get placement(): Placement {
    if (this.#placement === null) throw new MillraceError('closed', 'the hub has no database yet');
    return this.#placement;
  }

  async listen(): Promise<void> {
    const { host, port, client, logger } = this.#options;
    const tokens = async () => await (await this.#options.storage()).tokens();
    await checkListen(host, { tokens, logger });
    this.#auth.protect(this.app);
    this.app.get(linkRoute, { config: { role: 'open' } }, async (_request, reply) => {
      const text = 'This is the path of a link of a worker: expected a WebSocket.';
      await reply.code(426).header('upgrade', 'websocket').type('text/plain').send(text);
    });
    if (client !== null)
      await registerApi(this.app, {
        client,
        logger,
        metrics: this.context.metrics,
        health: () => ({ ...this.#health() }),
      });
    this.#upgrades.attach(this.app.server);
    await listenOn(this.app, host, port);
    this.#ticking = setInterval(() => this.#tick(), tickMs).unref();
    this.#open(this.#begin());
  }

  /** The database, within the time that a hello has. */
  #soon(): Promise<Storage> {
    const ms = this.#options.settings.helloMs / 2;
    return withDeadline(this.opened, { ms, name: 'opening of the database by the hub' });
  }

  /** From here on it works, once the database answers. */
  async #begin(): Promise<Storage> {
    const { logger } = this.context;
    const open = async (): Promise<Storage> => {
      const storage = await this.#options.storage();
      const placement = new Placement(this.context, storage);
      await placement.start();
      this.#placement = placement;
      return storage;
    };
    const storage = await openStoragePatiently(open, logger, this.#stopping.signal);
    await this.#clock.read(storage).catch((error: unknown) => {
      logger.debug('the clock of the database could not be read yet', {
        error: describeFailure(error).message,
      });
    });
    this.#storage = storage;
    this.#addRounds(storage);
    this.#duties = this.#dutiesOf(storage);
    await this.#duties.start();
    logger.info('hub: the database is open');
    return storage;
  }

  #addRounds(storage: Storage): void {
    const { settings } = this.context;
    this.rounds.add('sign of life', settings.hubBeatMs, async () => {
      await storage.hubBeat(this.#report());
      await this.#clock.read(storage);
    });
    this.rounds.add('fleet watch', settings.fleetMs, async () => {
      await this.absentees.note(storage);
      await this.#fleet.look(storage);
    });
    this.rounds.add('renewal for lost workers', settings.heartbeatMs, () =>
      this.absentees.renew(storage, (incarnation) => this.roster.get(incarnation) !== undefined),
    );
    const invariants = new Invariants(this.context, this.placement);
    this.rounds.add('look at invariants', invariantsMs, () => invariants.look(storage));
  }

  #dutiesOf(storage: Storage): Duties {
    const { hubId: holder, logger, settings } = this.context;
    const { leaseMs, retentionMs, logRetentionMs, staleReapMs, reapIntervalMs } = settings;
    return new Duties({
      storage,
      holder,
      beside: 'hub',
      leaseMs,
      retentionMs,
      logRetentionMs,
      staleReapMs,
      reapIntervalMs,
      logger,
      files: this.context.files,
      onForgotten: () => {
        this.context.metrics.reaps += 1;
      },
    });
  }

  #report() {
    const { hubId: id } = this.context;
    const { advertiseUrl } = this.#options;
    const details = { absent: this.absentees.size, groups: this.placement.groups };
    return {
      id,
      host: hostname(),
      pid: process.pid,
      version,
      advertiseUrl,
      connections: this.roster.size,
      details,
    };
  }

  #tick(): void {
    this.link.tick(performance.now());
    let running = 0;
    for (const worker of this.roster) running += worker.inventory.size;
    this.#duties?.noteProgress({ jobsDone: this.context.metrics.settledJobs, running });
  }

  /** Ends within its bounds whatever the database and the workers do. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#ticking !== null) clearInterval(this.#ticking);
    this.#upgrades.close();
    const workers = [...this.roster];
    this.link.closeAll();
    this.#auth[Symbol.dispose]();
    const duties = this.#within('end of the duties', this.#duties?.stop() ?? Promise.resolve());
    await this.link.emptied(closeMs);
    this.link.terminateAll();
    await this.#within('end of the server', this.app.close());
    await this.#within('end of what was on its way', this.#endClaims(workers));
    await duties;
    const { storage } = this;
    if (storage !== null) await this.#within('goodbye to the database', this.#sayGoodbye(storage));
  }

  async #endClaims(workers: readonly LinkedWorker[]): Promise<void> {
    await this.#placement?.stop();
    await Promise.all(workers.map((worker) => worker.idle()));
    await this.rounds.stop();
  }

  async #sayGoodbye(storage: Storage): Promise<void> {
    await this.absentees.note(storage);
    await storage.removeHub(this.context.hubId);
  }

  async #within(name: string, work: Promise<unknown>): Promise<void> {
    try {
      await withDeadline(work, { ms: lastWordsMs, name });
    } catch (error) {
      this.context.logger.warn(`hub: ${name} did not come, going on without`, {
        error: describeFailure(error).message,
      });
    }
  }
}
