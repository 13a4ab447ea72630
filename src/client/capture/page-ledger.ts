/** What a page asked for while it was captured, from the events of its session: counts, redirects, errors it told. */
import type { CdpClient } from '../browser-job.js';

export interface LedgerEntry {
  readonly requestId: string;
  readonly url: string;
  /** As in `Image`. */
  readonly kind: string;
  readonly type: string;
  readonly status: number;
}

interface Requested {
  readonly requestId: string;
  readonly type?: string;
  readonly frameId?: string;
  readonly request: { readonly url: string };
  readonly redirectResponse?: { readonly url: string };
}
interface Responded {
  readonly requestId: string;
  readonly type: string;
  readonly response: { readonly url: string; readonly status: number; readonly mimeType: string };
}
interface Thrown {
  readonly exceptionDetails: {
    readonly text: string;
    readonly exception?: { readonly description?: string };
  };
}
interface Said {
  readonly type: string;
  readonly args: readonly { readonly value?: unknown; readonly description?: string }[];
}

const mostErrors = 50;
const errorLetters = 500;
const mostRedirects = 20;

export class PageLedger {
  requests = 0;
  failed = 0;
  bytes = 0;
  readonly redirects: string[] = [];
  readonly errors: string[] = [];
  readonly #responses = new Map<string, LedgerEntry>();
  readonly #off: (() => void)[];
  readonly #onLoaded: (entry: LedgerEntry) => void;
  #mainFrame: string | null = null;

  private constructor(cdp: CdpClient, onLoaded: (entry: LedgerEntry) => void) {
    this.#onLoaded = onLoaded;
    this.#off = [
      cdp.on<Requested>('Network.requestWillBeSent', (event) => this.#requested(event)),
      cdp.on<Responded>('Network.responseReceived', ({ requestId, type, response }) => {
        const { url, status, mimeType } = response;
        this.#responses.set(requestId, { requestId, url, kind: type, type: mimeType, status });
      }),
      cdp.on<{ requestId: string; encodedDataLength: number }>('Network.loadingFinished', (event) => {
        this.bytes += Math.max(event.encodedDataLength, 0);
        this.#loaded(event.requestId);
      }),
      cdp.on<{ requestId: string }>('Network.loadingFailed', ({ requestId }) => {
        this.failed += 1;
        this.#responses.delete(requestId);
      }),
      cdp.on<Thrown>('Runtime.exceptionThrown', ({ exceptionDetails: { text, exception } }) =>
        this.#note(exception?.description ?? text),
      ),
      cdp.on<Said>('Runtime.consoleAPICalled', ({ type, args }) => {
        if (type === 'error' || type === 'assert')
          this.#note(args.map(({ value, description }) => description ?? String(value)).join(' '));
      }),
    ];
  }

  /** From now on; `onLoaded` for each response whose bytes are there. */
  static async open(cdp: CdpClient, onLoaded: (entry: LedgerEntry) => void): Promise<PageLedger> {
    const ledger = new PageLedger(cdp, onLoaded);
    await cdp.send('Runtime.enable');
    return ledger;
  }

  close(): void {
    for (const off of this.#off.splice(0)) off();
  }

  #requested({ type, frameId, redirectResponse }: Requested): void {
    this.requests += 1;
    if (type !== 'Document' || frameId === undefined) return;
    // The first document is that of the page itself.
    this.#mainFrame ??= frameId;
    if (frameId !== this.#mainFrame || redirectResponse === undefined) return;
    if (this.redirects.length < mostRedirects) this.redirects.push(redirectResponse.url);
  }

  #loaded(requestId: string): void {
    const entry = this.#responses.get(requestId);
    if (entry === undefined) return;
    this.#responses.delete(requestId);
    this.#onLoaded(entry);
  }

  #note(text: string): void {
    if (this.errors.length < mostErrors) this.errors.push(text.slice(0, errorLetters));
  }
}
