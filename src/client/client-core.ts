import { MillraceError } from '../internal/errors.js';
import { describeFailure } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';
import type { SettingValues } from '../internal/settings.js';
import type { TypedEvents } from '../internal/typed-events.js';
import { parseDatabaseUrl } from '../storage/database-url.js';
import { createFileKeeper, fileSettings } from '../storage/files/create-keeper.js';
import type { FileKeeper } from '../storage/files/file-keeper.js';
import { createStorage } from '../storage/open-storage.js';
import { AccessTokens } from './access-tokens.js';
import { Control } from './control.js';
import { CostWatch } from './cost-watch.js';
import { Definitions } from './definitions.js';
import { Dispatcher } from './dispatch.js';
import { EnqueueLine } from './enqueue-line.js';
import { createEvents, type MillraceEvents } from './events.js';
import { FleetControl } from './fleet-control.js';
import { Inspector } from './inspect.js';
import type { HandlePorts } from './job-handle.js';
import { laneChild } from './lane-child.js';
import type { ResolvedMillraceOptions } from './millrace-options.js';
import { watchProgress } from './progress-watcher.js';
import { ResultWaiter } from './result-waiter.js';
import { StorageAccess } from './storage-access.js';

/** The parts of a client, put together. */
export class ClientCore {
  readonly access: StorageAccess;
  readonly definitions: Definitions;
  readonly settings: SettingValues;
  readonly logger: Logger;
  readonly events: TypedEvents<MillraceEvents>;
  readonly line: EnqueueLine;
  readonly dispatcher: Dispatcher;
  readonly handles: HandlePorts;
  readonly costs: CostWatch;
  readonly waiter: ResultWaiter;
  readonly control: Control;
  readonly inspector: Inspector;
  readonly fleet: FleetControl;
  readonly tokens: AccessTokens;
  readonly files: FileKeeper;
  readonly options: ResolvedMillraceOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | null = null;

  constructor(options: ResolvedMillraceOptions) {
    const { settings, logger } = options;
    this.options = options;
    this.settings = settings;
    this.logger = logger;
    this.definitions = new Definitions(options.jobs, settings);
    this.events = createEvents(logger);
    this.access = accessTo(options);
    const storage = (): ReturnType<StorageAccess['get']> => this.access.get();
    this.line = new EnqueueLine(this.access, { timeoutMs: options.dispatchTimeoutMs, random: Math.random });
    this.waiter = new ResultWaiter(this.access, this.events);
    this.control = new Control(storage, settings.retentionDays);
    this.inspector = new Inspector(storage, settings);
    this.fleet = new FleetControl(storage, settings);
    this.tokens = new AccessTokens(storage);
    this.files = createFileKeeper(fileSettings(settings), storage);
    this.handles = {
      job: (id) => this.inspector.job(id),
      result: (id, resultOptions) => this.waiter.wait(id, resultOptions),
      progress: (id, resultOptions) => watchProgress(this, id, resultOptions),
      cancel: (id, options) => this.control.change('cancel', id, options),
    };
    const { queueCostBudgets: queues, groupCostBudgets: groups } = settings;
    this.costs = new CostWatch({ queues, groups }, logger);
    this.dispatcher = new Dispatcher({
      definitions: this.definitions,
      line: this.line,
      access: this.access,
      events: this.events,
      maxPayloadBytes: settings.maxPayloadBytes,
      handles: this.handles,
      costs: new CostWatch({ queues: settings.queueCostBudgets, groups: settings.groupCostBudgets }, logger),
    });
  }

  /** A call that `close` waits for. */
  track<T>(call: Promise<T>): Promise<T> {
    this.#underWay.add(call);
    const forget = (): void => void this.#underWay.delete(call);
    call.then(forget, forget);
    return call;
  }

  /** Lets dispatches on their way arrive, ends waiting for results, then closes the storage. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.dispatcher.close();
    // Each dispatch has its own deadline, so this ends.
    await this.line.idle();
    await Promise.allSettled(this.#underWay);
    this.waiter.close();
    try {
      await this.access.close();
    } catch (error) {
      this.logger.warn('the storage did not close cleanly', { error: describeFailure(error) });
    }
    this.events.clear();
  }
}

function accessTo({ database, clock, logger, migrate, settings }: ResolvedMillraceOptions): StorageAccess {
  if (typeof database !== 'string') return new StorageAccess({ create: () => database, isOwned: false });
  return new StorageAccess({
    isOwned: true,
    create: () => {
      if (laneChild() !== null && parseDatabaseUrl(database).engine === 'memory') throw memoryOfWorker();
      return createStorage(database, {
        logger,
        migrate,
        statementTimeoutMs: settings.databaseTimeoutMs,
        ...(clock === undefined ? {} : { clock }),
      });
    },
  });
}

function memoryOfWorker(): MillraceError {
  return new MillraceError(
    'option-invalid',
    'a database in memory is in the process of the worker, where a process lane can’t reach it. Dispatch by the context of the handler, or keep jobs in a database that processes share',
  );
}
