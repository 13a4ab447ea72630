import { HubControl } from './hub-control.js';
import type { HubDownMessage, HubLinkData, HubUpMessage } from './hub-link-messages.js';

/** The way from the main loop to the end of the connection. */
export interface HubPort {
  start(listener: HubPortListener): void;
  post(message: HubDownMessage): void;
  /** Resolves once nothing of it is left, within little more than the time given. */
  stop(deadlineMs: number): Promise<void>;
}

export interface HubPortListener {
  onMessage(message: HubUpMessage): void;
  /** The other side is gone, with all that it had not answered; it is made anew by itself. */
  onDeath(text: string, waitMs: number): void;
}

/** On the main loop itself, where no thread can be. */
export class LocalHubPort implements HubPort {
  readonly #data: HubLinkData;
  #control: HubControl | null = null;

  constructor(data: HubLinkData) {
    this.#data = data;
  }

  start(listener: HubPortListener): void {
    this.#control ??= new HubControl(this.#data, (message) => listener.onMessage(message));
    this.#control.start();
  }

  post(message: HubDownMessage): void {
    this.#control?.take(message);
  }

  async stop(deadlineMs: number): Promise<void> {
    await this.#control?.stop(deadlineMs);
  }
}
