import type { ConnectionTransport } from 'puppeteer-core';
import type { CdpConnection, CdpMessage } from '../cdp/cdp-connection.js';

/**
 * What Puppeteer takes for a connection to a browser: a browser session of its own over our pipe. What it sends without a
 * session is for that one, and comes back without one.
 */
export class RelayTransport implements ConnectionTransport {
  onmessage?: (message: string) => void;
  onclose?: () => void;
  readonly #connection: CdpConnection;
  readonly #sessionId: string;
  #isClosed = false;

  private constructor(connection: CdpConnection, sessionId: string) {
    this.#connection = connection;
    this.#sessionId = sessionId;
    connection.relay(sessionId, (message) => this.#receive(message));
  }

  /** `signal`: when it fires, every call of Puppeteer ends, also what Chrome would never answer. */
  static async open(connection: CdpConnection, signal: AbortSignal): Promise<RelayTransport> {
    const { sessionId } = await connection.browser.send('Target.attachToBrowserTarget', undefined, {
      signal,
    });
    const transport = new RelayTransport(connection, sessionId);
    if (signal.aborted) transport.close();
    else signal.addEventListener('abort', () => transport.close(), { once: true });
    return transport;
  }

  send(text: string): void {
    if (this.#isClosed) return;
    const { sessionId = this.#sessionId, ...call } = JSON.parse(text) as CdpMessage;
    this.#connection.sendRaw({ ...call, sessionId }, (reply) => this.#receive(reply));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { browser } = this.#connection;
    // It may be gone with its Chrome.
    browser.send('Target.detachFromTarget', { sessionId: this.#sessionId }).catch(() => undefined);
    this.onclose?.();
  }

  #receive({ sessionId, ...message }: CdpMessage): void {
    if (this.#isClosed) return;
    const own = sessionId === this.#sessionId ? message : { ...message, sessionId };
    this.onmessage?.(JSON.stringify(own));
  }
}
