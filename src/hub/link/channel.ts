/**
 * One socket: text in, messages out, and the ends of it. It knows no message but by its length. What it watches, at each
 * `tick`: that something is heard (a ping is not enough: a proxy may answer those), and that what was sent is read.
 *
 * open ──close(code)──▶ closing ──peer answers, or 2 s──▶ closed   (told once, by `onClosed`)
 */
import type { RawData, WebSocket } from 'ws';
import type { HubMessage } from '../../protocol/hub-messages.js';
import { type CloseCode, closeCodes } from '../../protocol/link-terms.js';
import type { HubMetrics } from '../hub-metrics.js';
import type { LinkTimes } from '../hub-options.js';
import { MessageRate } from './message-rate.js';

export interface ChannelListener {
  onText(text: string): void;
  /** What it had kept back may go on. */
  onWritable(): void;
  onClosed(code: number, reason: string): void;
}

/** Above it nothing is sent that can wait. */
const fullBytes = 1024 ** 2;
/** Far above what a worker at full speed sends, one exchange at a time. */
const rate = { perSecond: 5_000, burst: 20_000 };
const closeMs = 2_000;
/** Of a closed connection that never took a code along. */
const noCode = 1006;

export class Channel {
  readonly #socket: WebSocket;
  readonly #times: LinkTimes;
  readonly #metrics: HubMetrics;
  readonly #listener: ChannelListener;
  readonly #rate: MessageRate;
  #heardAtMs: number;
  #pingedAtMs: number;
  /** When what is not yet written out began to wait. */
  #unreadSinceMs: number | null = null;
  #writing = 0;
  #wasFull = false;
  #closing: { readonly code: number; readonly reason: string } | null = null;
  #isClosed = false;
  #endTimer: NodeJS.Timeout | null = null;

  constructor(
    socket: WebSocket,
    parts: { readonly times: LinkTimes; readonly metrics: HubMetrics; readonly listener: ChannelListener },
  ) {
    const nowMs = performance.now();
    this.#socket = socket;
    this.#times = parts.times;
    this.#metrics = parts.metrics;
    this.#listener = parts.listener;
    this.#rate = new MessageRate(rate, nowMs);
    this.#heardAtMs = nowMs;
    this.#pingedAtMs = nowMs;
    socket.on('message', (data, isBinary) => this.#take(data, isBinary));
    // A broken frame: the socket closes itself with the code of RFC 6455, which `close` tells.
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => this.#ended(code, reason.toString()));
  }

  get isOpen(): boolean {
    return this.#closing === null && !this.#isClosed;
  }

  /** There is room in the buffer of the socket. */
  get isWritable(): boolean {
    return this.isOpen && this.#socket.bufferedAmount < fullBytes;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** False: the connection is at its end, and it was not sent. */
  send(message: HubMessage): boolean {
    return this.sendText(JSON.stringify(message));
  }

  sendText(text: string): boolean {
    if (!this.isOpen) return false;
    this.#metrics.messagesOut += 1;
    this.#metrics.bytesOut += text.length;
    this.#writing += 1;
    this.#unreadSinceMs ??= performance.now();
    this.#socket.send(text, () => this.#written());
    if (!this.isWritable) this.#wasFull = true;
    return true;
  }

  /** No more is read until `resume`. */
  pause(): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.pause();
  }

  resume(): void {
    if (!this.#isClosed) this.#socket.resume();
  }

  close(code: CloseCode, reason: string): void {
    if (!this.isOpen) return;
    this.#closing = { code, reason };
    // A paused socket would never hear the answer.
    this.#socket.resume();
    this.#socket.close(code, shortened(reason));
    this.#endTimer = setTimeout(() => this.terminate(), closeMs).unref();
  }

  /** At once, without a word. */
  terminate(): void {
    this.#socket.terminate();
  }

  /** To be called every second or so. */
  tick(nowMs: number): void {
    if (!this.isOpen) return;
    const { silenceMs, slowMs, pingMs } = this.#times;
    if (nowMs - this.#heardAtMs >= silenceMs) {
      this.close(closeCodes.silent, `nothing was heard for ${Math.round(silenceMs / 1_000)} s`);
    } else if (this.#unreadSinceMs !== null && nowMs - this.#unreadSinceMs >= slowMs) {
      this.close(closeCodes.tooSlow, `what was sent is not read since ${Math.round(slowMs / 1_000)} s`);
    } else if (nowMs - this.#pingedAtMs >= pingMs) {
      this.#pingedAtMs = nowMs;
      this.#socket.ping();
    }
  }

  #take(data: RawData, isBinary: boolean): void {
    if (!this.isOpen) return;
    const nowMs = performance.now();
    this.#heardAtMs = nowMs;
    this.#metrics.messagesIn += 1;
    if (!this.#rate.allows(nowMs)) {
      this.close(closeCodes.tooMany, `more than ${rate.perSecond} messages a second`);
      return;
    }
    const text = isBinary ? '' : textOf(data);
    this.#metrics.bytesIn += text.length;
    this.#listener.onText(text);
  }

  #written(): void {
    this.#writing -= 1;
    this.#unreadSinceMs = this.#writing === 0 ? null : performance.now();
    if (!this.#wasFull || !this.isWritable) return;
    this.#wasFull = false;
    this.#listener.onWritable();
  }

  #ended(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#endTimer !== null) clearTimeout(this.#endTimer);
    const told = this.#closing ?? { code: code === 0 ? noCode : code, reason };
    this.#metrics.closes.add(String(told.code));
    this.#listener.onClosed(told.code, told.reason);
  }
}

function textOf(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)).toString();
}

/** A close frame has room for 123 bytes. */
function shortened(reason: string): string {
  const bytes = Buffer.from(reason);
  return bytes.length <= 123 ? reason : bytes.subarray(0, 120).toString().replace(/�+$/u, '');
}
