/**
 * One Chrome's debugging pipe: JSON texts, each ended by a NUL byte, both ways. Everything that a lane's health hangs on
 * goes over it; nothing listens on a port that others could reach.
 *
 * Sessions are flat: a message of one carries its id, and the browser's own carry none. A session is known here once
 * somebody asks for it by its id, or, for those that a session attaches to by itself, once Chrome tells so, if that session
 * has `adopts` set: then its children speak to the same ears (Puppeteer keeps account of its sessions itself).
 *
 * Promises: each call ends, by its answer, its deadline, its signal, the end of its session or of the connection, whichever
 * comes first; what Chrome was told is not undone by a deadline. A listener that throws costs its own message only. What is
 * no message, or longer than the limit, ends the connection with its reason: such a Chrome can't be trusted.
 */
import type { Readable, Writable } from 'node:stream';
import { describeFailure } from '../../internal/failure.js';
import { type CdpReply, CdpSession } from './cdp-session.js';

export interface CdpConnectionOptions {
  readonly write: Writable;
  readonly read: Readable;
  /** Called once, with the reason in words: `its pipe was closed`. */
  readonly onEnd: (reason: string) => void;
  /** A listener threw. */
  readonly onListenerError: (error: unknown) => void;
  /** The longest message taken, in bytes. @default 256 MB: a body of 190 MB came in one message [measured] */
  readonly maxMessageBytes?: number;
}

/** Takes every message of its session and of those that it attached to, as Chrome sent it. */
export type CdpRelay = (message: CdpMessage) => void;

export interface CdpMessage {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: object;
  readonly result?: object;
  readonly error?: { readonly code?: number; readonly message?: string };
}

interface Waiting {
  readonly take: (reply: CdpReply) => void;
  readonly sessionId: string;
}

const rootId = '';
const mostBytes = 256 * 1024 * 1024;

export class CdpConnection {
  /** The browser's own session. */
  readonly browser: CdpSession;
  readonly #options: CdpConnectionOptions;
  readonly #sessions = new Map<string, CdpSession>();
  readonly #relays = new Map<string, CdpRelay>();
  readonly #waiting = new Map<number, Waiting>();
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  #lastId = 0;
  #endReason: string | null = null;

  constructor(options: CdpConnectionOptions) {
    this.#options = options;
    this.browser = this.session(rootId);
    options.read.on('data', (chunk: Buffer) => this.#read(chunk));
    options.read.on('close', () => this.end('its pipe was closed'));
    options.write.on('error', () => this.end('its pipe was closed'));
  }

  /** Null while it lives. */
  get endReason(): string | null {
    return this.#endReason;
  }

  /** The session of this id, which Chrome has told of or is about to. */
  session(id: string): CdpSession {
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    const session = new CdpSession(id, {
      send: (method, params, take) => this.#send(id, { method, params }, take),
      onListenerError: this.#options.onListenerError,
    });
    if (this.#endReason === null) this.#sessions.set(id, session);
    else session.close(this.#endReason);
    return session;
  }

  /** A session of its own with the target. */
  async attach(targetId: string): Promise<CdpSession> {
    const { sessionId } = await this.browser.send('Target.attachToTarget', { targetId, flatten: true });
    return this.session(sessionId);
  }

  /** Everything of this session, and of those it attaches to, goes to `relay` as it comes. */
  relay(sessionId: string, relay: CdpRelay): void {
    this.#relays.set(sessionId, relay);
  }

  /** Sends a call of a relayed session; the answer carries the id that the caller gave. */
  sendRaw(message: CdpMessage & { readonly sessionId: string }, take: (reply: CdpMessage) => void): void {
    const { id, sessionId, ...call } = message;
    this.#send(sessionId, call, (reply) => {
      const answer = 'error' in reply ? { error: reply.error } : { result: reply.result };
      take({ ...answer, ...(id === undefined ? {} : { id }), sessionId });
    });
  }

  /** Ends every call and session with the reason. Idempotent. */
  end(reason: string): void {
    if (this.#endReason !== null) return;
    this.#endReason = reason;
    this.#chunks = [];
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { take } of waiting) take({ error: { message: reason } });
    for (const session of this.#sessions.values()) session.close(reason);
    this.#sessions.clear();
    this.#relays.clear();
    this.#options.onEnd(reason);
  }

  #send(sessionId: string, call: CdpMessage, take: (reply: CdpReply) => void): void {
    if (this.#endReason !== null) {
      take({ error: { message: this.#endReason } });
      return;
    }
    const id = ++this.#lastId;
    this.#waiting.set(id, { take, sessionId });
    const text = JSON.stringify(sessionId === rootId ? { ...call, id } : { ...call, id, sessionId });
    this.#options.write.write(`${text}\0`);
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let to = chunk.indexOf(0); to !== -1; to = chunk.indexOf(0, from)) {
      this.#take([...this.#chunks, chunk.subarray(from, to)]);
      this.#chunks = [];
      this.#chunkBytes = 0;
      from = to + 1;
    }
    if (from === chunk.length || this.#endReason !== null) return;
    this.#chunks.push(chunk.subarray(from));
    this.#chunkBytes += chunk.length - from;
    const most = this.#options.maxMessageBytes ?? mostBytes;
    if (this.#chunkBytes > most) this.end(`sent a message of more than ${most} bytes`);
  }

  #take(parts: readonly Buffer[]): void {
    if (this.#endReason !== null) return;
    let message: CdpMessage;
    try {
      message = JSON.parse(
        (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString(),
      ) as CdpMessage;
    } catch (error) {
      this.end(`sent what is no message: ${describeFailure(error).message}`);
      return;
    }
    if (typeof message !== 'object' || message === null) this.end('sent what is no message');
    else if (message.id === undefined) this.#takeEvent(message);
    else this.#takeReply(message.id, message);
  }

  #takeReply(id: number, { result, error }: CdpMessage): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.take(error === undefined ? { result: result ?? {} } : { error });
  }

  #takeEvent(message: CdpMessage): void {
    const { sessionId = rootId, method, params = {} } = message;
    const ofTarget = (params as { sessionId?: string }).sessionId ?? rootId;
    if (method === undefined) return;
    const relay = this.#relays.get(sessionId);
    if (method === 'Target.attachedToTarget' && relay !== undefined) this.#relays.set(ofTarget, relay);
    if (relay === undefined) this.#sessions.get(sessionId)?.take({ method, params });
    else relay(message);
    if (method === 'Target.detachedFromTarget') this.#drop(ofTarget);
  }

  #drop(sessionId: string): void {
    this.#relays.delete(sessionId);
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    session?.close('its target is gone');
    for (const [id, { take, sessionId: of }] of this.#waiting) {
      if (of !== sessionId) continue;
      this.#waiting.delete(id);
      take({ error: { message: 'its target is gone' } });
    }
  }
}
