/**
 * One connection, from the handshake to its end.
 *
 *   greeting ──hello──▶ joining ──welcome──▶ open ──goodbye, close, silence──▶ closed
 *      ▲                   │
 *      └──failed (retryable)┘
 *
 * The first message must be a hello, in time. What can't be read is answered with `failed` and harms nothing; many of them
 * end the connection. `settle` goes in order through the turnstile of its worker; everything else is handled side
 * by side. A worker that sends faster than storage answers is not read from meanwhile.
 */

import type { WebSocket } from 'ws';
import { isMillraceError } from '../../internal/errors.js';
import { describeFailure } from '../../internal/failure.js';
import type { HubMessage } from '../../protocol/hub-messages.js';
import { badWindowMs, closeCodes, linkFailures, mostBadMessages } from '../../protocol/link-terms.js';
import type { HelloMessage, WorkerMessage } from '../../protocol/worker-messages.js';
import type { HubContext } from '../hub-context.js';
import { Channel } from './channel.js';
import { decode, isUndecodable, type Undecodable } from './decode.js';
import type { LinkedWorker } from './linked-worker.js';

/** What a session asks of the hub around it. */
export interface SessionPorts {
  /** Welcomes the worker; null: the connection was closed with the reason. Rejects with what the worker is to be told. */
  join(session: Session, hello: HelloMessage): Promise<LinkedWorker | null>;
  /** Handles a message of a welcomed worker, and answers it. Rejects with what the worker is to be told. */
  handle(worker: LinkedWorker, message: Exclude<WorkerMessage, HelloMessage>): Promise<void>;
  onWritable(worker: LinkedWorker): void;
  onClosed(session: Session, code: number, reason: string): void;
}

/** A worker has no more than 100 unanswered. */
const mostPending = 128;
const fewPending = 64;

export class Session {
  readonly channel: Channel;
  /** As asked for in the address. */
  readonly wantedId: string;
  readonly address: string;
  /** Watches over what let it in. */
  hold: Disposable | null = null;
  worker: LinkedWorker | null = null;
  readonly #context: HubContext;
  readonly #ports: SessionPorts;
  #isJoining = false;
  #greetingUntilMs: number;
  #pending = 0;
  #isPaused = false;
  #bad = 0;
  #badSinceMs = 0;
  /** What came while it was being welcomed. */
  #early: Exclude<WorkerMessage, HelloMessage>[] = [];

  constructor(
    socket: WebSocket,
    parts: {
      readonly context: HubContext;
      readonly ports: SessionPorts;
      readonly wantedId: string;
      readonly address: string;
    },
  ) {
    const { context, ports } = parts;
    this.#context = context;
    this.#ports = ports;
    this.wantedId = parts.wantedId;
    this.address = parts.address;
    this.#greetingUntilMs = performance.now() + context.settings.helloMs;
    this.channel = new Channel(socket, {
      times: context.settings,
      metrics: context.metrics,
      listener: {
        onText: (text) => this.#take(text),
        onWritable: () => this.worker !== null && ports.onWritable(this.worker),
        onClosed: (code, reason) => ports.onClosed(this, code, reason),
      },
    });
  }

  /** To be called every second or so. */
  tick(nowMs: number): void {
    this.channel.tick(nowMs);
    if (this.worker === null && !this.#isJoining && nowMs >= this.#greetingUntilMs) {
      this.channel.close(closeCodes.noHello, 'no hello came in time');
    }
  }

  #take(text: string): void {
    const message = decode(text);
    if (isUndecodable(message)) this.#refuse(message);
    else if (message.type === 'hello') this.#greet(message);
    else if (this.worker !== null) this.#handle(this.worker, message);
    else if (this.#isJoining) this.#keep(message);
    else this.#refuseGreeting(`the first message must be a hello, not ${message.type}`);
  }

  #refuseGreeting(reason: string): void {
    this.channel.close(closeCodes.noHello, reason);
  }

  #refuse({ code, text, re }: Undecodable): void {
    this.#context.metrics.badMessages += 1;
    if (this.worker === null && !this.#isJoining) {
      this.#refuseGreeting(`the first message must be a hello: ${text}`);
      return;
    }
    this.#fail(re, code, text, false);
    this.#countBad();
  }

  #countBad(): void {
    const nowMs = performance.now();
    if (nowMs - this.#badSinceMs > badWindowMs) {
      this.#badSinceMs = nowMs;
      this.#bad = 0;
    }
    this.#bad += 1;
    if (this.#bad <= mostBadMessages) return;
    this.channel.close(closeCodes.tooMany, 'too many messages that can’t be used');
  }

  #greet(hello: HelloMessage): void {
    if (this.worker !== null || this.#isJoining) {
      this.#fail(hello.id, linkFailures.outOfOrder, 'a connection has one hello', false);
      this.#countBad();
      return;
    }
    this.#isJoining = true;
    const join = async (): Promise<void> => {
      this.worker = await this.#ports.join(this, hello);
    };
    this.#track(hello.id, join, () => {
      this.#isJoining = false;
      // A hello that failed may come again, here or on another connection.
      this.#greetingUntilMs = performance.now() + this.#context.settings.helloMs;
      this.#handleEarly();
    });
  }

  #keep(message: Exclude<WorkerMessage, HelloMessage>): void {
    this.#early.push(message);
    if (this.#early.length >= mostPending) this.#pause();
  }

  #handleEarly(): void {
    const early = this.#early;
    this.#early = [];
    const { worker } = this;
    if (worker !== null) for (const message of early) this.#handle(worker, message);
    else if (early.length > 0) this.#refuseGreeting('the first message must be a hello');
    this.#resume();
  }

  #handle(worker: LinkedWorker, message: Exclude<WorkerMessage, HelloMessage>): void {
    // What comes after a goodbye is nobody's any more.
    if (worker.hasSaidGoodbye) return;
    this.#track(idOf(message), () => this.#ports.handle(worker, message));
  }

  #track(re: number | null, run: () => Promise<void>, onEnded: () => void = () => undefined): void {
    this.#pending += 1;
    if (this.#pending >= mostPending) this.#pause();
    run()
      .catch((error: unknown) => this.#failWith(re, error))
      .finally(() => {
        this.#pending -= 1;
        onEnded();
        this.#resume();
      });
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.channel.pause();
  }

  #resume(): void {
    if (!this.#isPaused || this.#pending > fewPending || this.#early.length > 0) return;
    this.#isPaused = false;
    this.channel.resume();
  }

  #failWith(re: number | null, error: unknown): void {
    const { metrics, logger } = this.#context;
    metrics.failedRequests += 1;
    if (isMillraceError(error)) {
      this.#fail(re, error.code, error.message, error.retryable);
      return;
    }
    logger.error('a message of a worker could not be handled', {
      worker: this.wantedId,
      error: describeFailure(error),
    });
    this.#fail(re, 'internal', 'the hub could not handle it; its log says why', true);
  }

  #fail(re: number | null, code: string, message: string, retryable: boolean): void {
    this.channel.send({ type: 'failed', re, code, message, retryable } satisfies HubMessage);
  }
}

const idOf = (message: WorkerMessage): number | null => ('id' in message ? message.id : null);
