/**
 * One connection to a hub, or the lack of one: a single socket at a time, made anew for ever.
 *
 *   LOST (waits) ──▶ CONNECTING ──upgraded──▶ HELLO ──welcome──▶ OPEN
 *     ▲                  │ refused, no answer    │ refused, no answer │ closed, broke off, silent
 *     └──────────────────┴───────────────────────┴────────────────────┘            any ──stop──▶ CLOSED
 *
 * Each step has a deadline. Each try goes to the next address of the list. In OPEN the link is dead when nothing at all
 * came for `silenceMs` (told in the welcome), or when a heartbeat stays unanswered: either proves what TCP may hide, a
 * direction that is stalled. A message that can't be read is logged and passed over.
 *
 * What it does not promise: that something sent arrives. Whoever sends a request repeats it on the next connection.
 */
import { WebSocket } from 'ws';
import { withDeadline } from '../../../internal/deadline.js';
import { describeFailure } from '../../../internal/failure.js';
import { type HubMessage, hubMessage, type WelcomeMessage } from '../../../protocol/hub-messages.js';
import { closeCodes, linkPath, linkProtocol } from '../../../protocol/link-terms.js';
import type { WorkerMessage } from '../../../protocol/worker-messages.js';
import { monotonicMs } from '../../monotonic.js';
import type { Body } from './hub-link-messages.js';
import { type ConnectionEnd, closeText, fixOf, reconnectWaitMs } from './reconnect.js';
import { SilenceWatch } from './silence-watch.js';

export type OutgoingBody = Body<WorkerMessage>;
export type HelloBody = Body<Extract<WorkerMessage, { type: 'hello' }>>;

export type ConnectionState = 'LOST' | 'CONNECTING' | 'HELLO' | 'OPEN' | 'CLOSED';

/** A message that was sent. */
export interface SentMessage {
  readonly id: number;
  /** Monotonic ms, before it was written. */
  readonly atMs: number;
}

export interface HubConnectionOptions {
  readonly urls: readonly string[];
  readonly workerId: () => string;
  /** Asked anew for each connection. */
  readonly createHello: () => Promise<HelloBody>;
  readonly onOpen: (welcome: WelcomeMessage, hello: SentMessage, url: string) => void;
  readonly onMessage: (message: HubMessage) => void;
  readonly onLost: (end: ConnectionEnd, waitMs: number, fix: string | null) => void;
  /** A newer connection of this incarnation stands; this one comes back no more. */
  readonly onSuperseded: () => void;
  readonly log: (
    level: 'debug' | 'warn',
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ) => void;
  readonly random: () => number;
}

const connectMs = 10_000;
/** A hub whose storage is away says so, or lets the hello wait for it. */
const welcomeMs = 20_000;
const closeMs = 1_000;
/** A connection that stood so long was a good one: the next failure is the first again. */
const steadyMs = 5_000;
/** Frames of the hub hold 2 MB before they are written as JSON. */
const mostInboundBytes = 16 * 1024 ** 2;

export class HubConnection {
  readonly #options: HubConnectionOptions;
  #state: ConnectionState = 'LOST';
  #socket: WebSocket | null = null;
  #tries = 0;
  #failures = 0;
  #openedAtMs = 0;
  #lastId = 0;
  #hello: SentMessage | null = null;
  #timer: NodeJS.Timeout | null = null;
  #silence: SilenceWatch | null = null;
  #unreadable = 0;

  constructor(options: HubConnectionOptions) {
    this.#options = options;
    this.#tries = Math.floor(options.random() * options.urls.length);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get isOpen(): boolean {
    return this.#state === 'OPEN';
  }

  /** Written, and not yet taken by the system. */
  get unsentBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  start(): void {
    if (this.#state === 'LOST' && this.#timer === null) this.#connect();
  }

  /** Null while there is no connection to send it on. */
  send(body: OutgoingBody): SentMessage | null {
    if (this.#state !== 'OPEN') return null;
    return this.#write(body);
  }

  /** Of a connection that is of no more use, whatever TCP says of it. */
  giveUp(text: string): void {
    this.#end({ code: null, httpStatus: null, text });
  }

  /** For good. Resolves once the socket is closed, or was torn off after a second. */
  async close(): Promise<void> {
    const socket = this.#socket;
    this.#state = 'CLOSED';
    this.#clear();
    if (socket === null) return;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    try {
      socket.close(closeCodes.normal);
      await withDeadline(closed, { ms: closeMs, name: 'the close of the connection to the hub' });
    } catch {
      // Nobody answers: the system ends the socket.
    } finally {
      socket.terminate();
    }
  }

  #connect(): void {
    const { urls, workerId } = this.#options;
    const url = urls[this.#tries % urls.length] as string;
    this.#tries += 1;
    this.#state = 'CONNECTING';
    const socket = new WebSocket(url + linkPath(workerId()), linkProtocol, {
      handshakeTimeout: connectMs,
      maxPayload: mostInboundBytes,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#socket = socket;
    this.#lastId = 0;
    this.#hello = null;
    const ifCurrent = (act: () => void) => (): void => {
      if (this.#socket === socket) act();
    };
    socket.on(
      'open',
      ifCurrent(() => void this.#greet(socket)),
    );
    socket.on('message', (data, isBinary) => {
      if (this.#socket === socket) this.#receive(String(data), isBinary, url);
    });
    socket.on(
      'ping',
      ifCurrent(() => this.#silence?.noteHeard()),
    );
    socket.on(
      'pong',
      ifCurrent(() => this.#silence?.noteHeard()),
    );
    socket.on('unexpected-response', (_request, response) => {
      response.resume();
      const httpStatus = response.statusCode ?? 0;
      if (this.#socket === socket)
        this.#end({ code: null, httpStatus, text: `the hub answered the handshake with ${httpStatus}` });
    });
    socket.on('error', (error) => {
      if (this.#socket === socket) this.#end({ code: null, httpStatus: null, text: errorText(error) });
    });
    socket.on('close', (code, reason) => {
      const text = closeText(code, String(reason));
      if (this.#socket === socket) this.#end({ code: code === 1006 ? null : code, httpStatus: null, text });
    });
  }

  async #greet(socket: WebSocket): Promise<void> {
    this.#state = 'HELLO';
    this.#timer = setTimeout(
      () => this.giveUp(`the hub did not answer the hello within ${welcomeMs / 1_000} s`),
      welcomeMs,
    );
    try {
      const body = await this.#options.createHello();
      if (this.#socket === socket && this.#state === 'HELLO') this.#hello = this.#write(body);
    } catch (error) {
      if (this.#socket === socket) this.giveUp(errorText(error));
    }
  }

  #write(body: OutgoingBody): SentMessage {
    this.#lastId += 1;
    const sent = { id: this.#lastId, atMs: monotonicMs() };
    const isAnswered = body.type !== 'log' && body.type !== 'profile-notes';
    // The callback is where errors of a socket that has just died go; its `close` tells of them.
    this.#socket?.send(JSON.stringify(isAnswered ? { ...body, id: sent.id } : body), () => undefined);
    return sent;
  }

  #receive(text: string, isBinary: boolean, url: string): void {
    this.#silence?.noteHeard();
    const message = isBinary ? null : read(text);
    if (message === null) {
      this.#unreadable += 1;
      this.#options.log('warn', 'a message of the hub could not be read and is passed over', {
        bytes: text.length,
        beginning: text.slice(0, 100),
        soFar: this.#unreadable,
      });
      return;
    }
    if (this.#state === 'OPEN') this.#options.onMessage(message);
    else if (this.#state === 'HELLO') this.#receiveFirst(message, url);
  }

  #receiveFirst(message: HubMessage, url: string): void {
    const hello = this.#hello;
    if (message.type === 'failed' && hello !== null && message.re === hello.id) {
      this.giveUp(`the hub refused the hello: ${message.message} (${message.code})`);
      return;
    }
    if (message.type !== 'welcome' || hello === null || message.re !== hello.id) return;
    this.#clearTimer();
    this.#state = 'OPEN';
    this.#openedAtMs = monotonicMs();
    this.#silence = new SilenceWatch(message.silenceMs, () =>
      this.giveUp(`nothing was heard of the hub for ${Math.round(message.silenceMs / 1_000)} s`),
    );
    this.#options.onOpen(message, hello, url);
  }

  #end(end: ConnectionEnd): void {
    if (this.#state === 'CLOSED' || this.#state === 'LOST') return;
    const wasSteady = this.#state === 'OPEN' && monotonicMs() - this.#openedAtMs >= steadyMs;
    const socket = this.#socket;
    this.#clear();
    this.#state = 'LOST';
    socket?.terminate();
    if (end.code === closeCodes.superseded) {
      this.#state = 'CLOSED';
      this.#options.onSuperseded();
      return;
    }
    if (wasSteady) this.#failures = 0;
    const waitMs = reconnectWaitMs(end, this.#failures, this.#options.random());
    this.#failures += 1;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#connect();
    }, waitMs);
    this.#options.onLost(end, waitMs, fixOf(end));
  }

  #clear(): void {
    this.#clearTimer();
    this.#silence?.[Symbol.dispose]();
    this.#silence = null;
    this.#socket = null;
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

function read(text: string): HubMessage | null {
  try {
    const parsed = hubMessage.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    // No JSON: as unreadable as what has another shape.
    return null;
  }
}

/** A refused connection of a name with several addresses says nothing but in its parts. */
function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map((part: unknown) => describeFailure(part).message).join(', ');
  return describeFailure(error).message;
}
