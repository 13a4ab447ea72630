import { Socket } from 'node:net';
import { withDeadline } from '../../../../internal/deadline.js';
import { type ErrorCode, isErrorCode } from '../../../../internal/error-codes.js';
import { MillraceError } from '../../../../internal/errors.js';
import { encodeFrame, FrameReader } from '../frames.js';
import type { CalledError, DownMessage, LaneAnswers, LaneCall, UpMessage } from '../messages.js';
import { messageFd } from './pipes.js';

/** Longer than any call of the worker to its database, which has a deadline of its own. */
const answerMs = 120_000;

/** What is not the answer to a call. */
export type OrderMessage = Exclude<DownMessage, { type: 'answer' | 'refusal' }>;

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The child's end of the pipe to its worker. */
export class ParentLine {
  readonly #pipe = new Socket({ fd: messageFd, readable: true, writable: true });
  readonly #pending = new Map<number, Pending>();
  #calls = 0;

  constructor() {
    // Without its worker this process is ended by its guard.
    this.#pipe.on('error', () => undefined);
  }

  /** Nothing is read before. */
  open(onMessage: (message: OrderMessage) => void): void {
    const reader = new FrameReader((value) => {
      const message = value as DownMessage;
      if (message.type === 'answer') this.#pending.get(message.seq)?.resolve(message.value);
      else if (message.type === 'refusal') this.#pending.get(message.seq)?.reject(errorOf(message.error));
      else onMessage(message);
    });
    this.#pipe.on('data', (chunk: Buffer) => reader.push(chunk));
  }

  /**
   * Written at once as far as the pipe takes it, so that what a handler said before it crashed is told.
   *
   * @throws MillraceError `payload-too-large`
   */
  send(message: UpMessage): void {
    this.#pipe.write(encodeFrame(message));
  }

  /** @throws MillraceError what the worker answers, or `deadline-exceeded` */
  async call<Call extends LaneCall>(run: number, call: Call): Promise<LaneAnswers[Call['method']]> {
    this.#calls += 1;
    const seq = this.#calls;
    const answered = new Promise<unknown>((resolve, reject) => this.#pending.set(seq, { resolve, reject }));
    try {
      this.send({ type: 'call', run, seq, call });
      const name = `answer of the worker to "${call.method}"`;
      return (await withDeadline(answered, { ms: answerMs, name })) as LaneAnswers[Call['method']];
    } finally {
      this.#pending.delete(seq);
    }
  }
}

function errorOf({ code, message, retryable, details }: CalledError): MillraceError {
  const known: ErrorCode = isErrorCode(code) ? code : 'internal';
  return new MillraceError(known, message, { retryable, details });
}
