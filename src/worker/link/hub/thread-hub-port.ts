import type { LogFields } from '../../../internal/logger.js';
import { ThreadKeeper } from '../thread-keeper.js';
import type { HubDownMessage, HubThreadData, HubUpMessage } from './hub-link-messages.js';
import type { HubPort, HubPortListener } from './hub-port.js';

/** The end of the connection in a thread of its own, which is made anew when it dies. */
export class ThreadHubPort implements HubPort {
  readonly #file: string;
  readonly #data: HubThreadData;
  readonly #log: (level: 'warn' | 'error', message: string, fields: LogFields) => void;
  #keeper: ThreadKeeper<HubDownMessage, HubUpMessage> | null = null;
  #report: HubDownMessage | null = null;

  constructor(
    file: string,
    data: HubThreadData,
    log: (level: 'warn' | 'error', message: string, fields: LogFields) => void,
  ) {
    this.#file = file;
    this.#data = data;
    this.#log = log;
  }

  start(listener: HubPortListener): void {
    const keeper = new ThreadKeeper<HubDownMessage, HubUpMessage>({
      file: this.#file,
      data: this.#data,
      log: this.#log,
      onMessage: (message) => {
        if (message.type === 'open') keeper.noteWell();
        listener.onMessage(message);
      },
      onReady: () => {
        if (this.#report !== null) keeper.post(this.#report);
      },
      onDeath: (text, waitMs) => listener.onDeath(text, waitMs),
    });
    this.#keeper = keeper;
    keeper.start();
  }

  post(message: HubDownMessage): void {
    if (message.type === 'report') this.#report = message;
    this.#keeper?.post(message);
  }

  async stop(deadlineMs: number): Promise<void> {
    await this.#keeper?.stop({ type: 'stop', deadlineMs }, deadlineMs + 1_000);
  }
}
