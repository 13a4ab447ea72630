import type { Logger } from '../../internal/logger.js';
import { Duties } from '../../maintenance/duties.js';
import type { FileKeeper } from '../../storage/files/file-keeper.js';
import type { Storage } from '../../storage/storage.js';
import type { Link, LinkListener, LinkSettings, WorkerIdentity, WorkerStatus } from './link.js';
import { LinkControl } from './link-control.js';
import type { DutySettings } from './link-messages.js';

/** The link on the main loop, over the worker's own storage. */
export class LocalLink implements Link {
  readonly #control: LinkControl;
  readonly #duties: Duties | null;

  constructor(
    storage: Storage,
    parts: {
      readonly identity: WorkerIdentity;
      readonly settings: LinkSettings;
      readonly duties: DutySettings | null;
      readonly files: FileKeeper;
    },
    listener: LinkListener,
  ) {
    const { identity, settings, duties, files } = parts;
    const log =
      (level: 'debug' | 'info' | 'warn' | 'error') =>
      (message: string, fields = {}) =>
        listener.onLog(level, message, fields);
    const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
    this.#control = new LinkControl(storage, identity, settings, listener);
    this.#duties =
      duties === null
        ? null
        : new Duties({ storage, holder: identity.incarnation, logger, files, ...duties });
  }

  async start(): Promise<void> {
    await this.#control.start();
    await this.#duties?.start();
  }

  report(status: WorkerStatus): void {
    this.#control.report(status);
    this.#duties?.noteProgress(status);
  }

  async stop(deadlineMs: number): Promise<void> {
    await this.#duties?.stop({ deadlineMs });
    await this.#control.stop(deadlineMs);
  }
}
