/**
 * The hub of this process, as `millrace hub` and `millrace up` run it, and the client whose database and jobs it serves. It
 * listens first and waits for its database after that. What waiting can't cure (an unmigrated schema, a refused password)
 * is told by `failed`.
 */
import { Millrace } from '../client/millrace.js';
import { Hub } from '../hub/hub.js';
import type { Logger } from '../internal/logger.js';
import { type NewToken, newToken } from '../internal/token-text.js';
import type { Setup } from './session.js';

/** Sockets are closed within that; what the database then takes is bounded by its own. */
const stopMs = 5_000;

export class HubProcess {
  /** Resolves with what keeps the hub from its database for good; else it never does. Once it listens. */
  readonly failed: Promise<unknown>;
  /** Lets a worker of this process's own in; no other hub knows it, and it ends with this one. */
  readonly ownToken: NewToken = newToken();
  readonly #client: Millrace;
  readonly #hub: Hub;
  #isStopping = false;
  #tellFailed: (error: unknown) => void = () => undefined;

  constructor({ settings, database, jobs }: Setup, logger: Logger) {
    this.failed = new Promise((resolve) => {
      this.#tellFailed = resolve;
    });
    const { id, secretHash } = this.ownToken;
    this.#client = new Millrace({ database, jobs, settings: settings.values, logger });
    this.#hub = new Hub({
      client: this.#client,
      ownTokens: [{ id, secretHash, role: 'worker', name: 'own worker' }],
    });
  }

  /**
   * Resolves once it listens, with its address.
   *
   * @throws MillraceError `hub-not-listening`
   */
  async start(): Promise<string> {
    await this.#hub.start();
    this.#hub.ready().catch((error: unknown) => {
      if (!this.#isStopping) this.#tellFailed(error);
    });
    return this.#hub.url;
  }

  /** Idempotent; a second call hastens the first. */
  async stop(deadlineMs: number = stopMs): Promise<void> {
    this.#isStopping = true;
    try {
      await this.#hub.stop({ deadlineMs });
    } finally {
      await this.#client.close();
    }
  }
}
