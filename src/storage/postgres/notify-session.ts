import { randomBytes } from 'node:crypto';
import { withDeadline } from '../../internal/deadline.js';
import { anyQueue } from './context.js';
import { type Client, connect } from './driver.js';
import { fromDriver } from './errors.js';

const defaultAnswerMs = 5_000;

export interface NotifySessionOptions {
  readonly url: string;
  readonly channel: string;
  /** How long a notification may take to come back, and any statement to be answered. @default 5 000 */
  readonly answerMs?: number;
}

export interface NotifySessionEvents {
  /** From another session; null = queues unknown. */
  readonly onWake: (queues: readonly string[] | null) => void;
  readonly onLost: () => void;
}

/** One connection that sends notifications and, when asked to, listens. It keeps the process alive only while it sends. */
export class NotifySession {
  readonly #client: Client;
  readonly #channel: string;
  readonly #answerMs: number;
  readonly #probeChannel = `millrace_probe_${randomBytes(8).toString('hex')}`;
  #onProbe: (() => void) | null = null;
  #probing: Promise<void> | null = null;
  #isListening = false;
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  private constructor(client: Client, options: NotifySessionOptions, events: NotifySessionEvents) {
    const { channel, answerMs = defaultAnswerMs } = options;
    this.#client = client;
    this.#channel = channel;
    this.#answerMs = answerMs;
    client.pg.on('notification', ({ channel: from, payload, processId }) => {
      if (from === this.#probeChannel) this.#onProbe?.();
      else if (from === channel && processId !== this.#ownProcessId())
        events.onWake(parsePayload(payload ?? ''));
    });
    client.holdProcess(false);
    client.pg.on('error', events.onLost);
    client.pg.on('end', events.onLost);
  }

  static async open(options: NotifySessionOptions, events: NotifySessionEvents): Promise<NotifySession> {
    try {
      const client = await connect({ url: options.url, ownSession: false, statementTimeoutMs: 0 });
      return new NotifySession(client, options, events);
    } catch (error) {
      throw fromDriver(error, 'connecting for wake-ups');
    }
  }

  /** A hint need not outlive a crash of the server: its commit waits for no disk. Two statements of one text are one transaction. */
  async notify(queues: readonly string[]): Promise<void> {
    const payload = this.#client.pg.escapeLiteral(payloadOf(queues));
    await this.#query(`set local synchronous_commit = off; notify "${this.#channel}", ${payload}`);
  }

  /** Listens, and proves it by a notification of its own: a pooler, or a dead half of a connection, brings none back. */
  async listen(): Promise<void> {
    if (!this.#isListening) {
      await this.#query(`listen "${this.#channel}"`);
      await this.#query(`listen "${this.#probeChannel}"`);
      this.#isListening = true;
    }
    await this.probe();
  }

  /** Several that ask at once share the answer. */
  probe(): Promise<void> {
    this.#probing ??= this.#probeOnce().finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  async #probeOnce(): Promise<void> {
    const arrived = new Promise<void>((resolve) => {
      this.#onProbe = resolve;
    });
    try {
      await this.#query(`notify "${this.#probeChannel}"`);
      await withDeadline(arrived, { ms: this.#answerMs, name: 'PostgreSQL, a notification to ourselves' });
    } finally {
      this.#onProbe = null;
    }
  }

  end(): Promise<void> {
    this.#client.holdProcess(true);
    return this.#client.end();
  }

  drop(): void {
    this.#client.drop();
  }

  /** The driver has it from the login; a notification carries the one it came from. */
  #ownProcessId(): number | undefined {
    return (this.#client.pg as unknown as { processID?: number }).processID;
  }

  /** Utility statements without parameters: nothing is planned, nothing is prepared. One after the other. */
  #query(text: string): Promise<void> {
    this.#waiting += 1;
    this.#client.holdProcess(true);
    const turn = this.#tail.then(() => this.#send(text));
    const done = (): void => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#client.holdProcess(false);
    };
    this.#tail = turn.then(done, done);
    return turn;
  }

  async #send(text: string): Promise<void> {
    try {
      await withDeadline(this.#client.pg.query(text), { ms: this.#answerMs, name: 'PostgreSQL, wake-ups' });
    } catch (error) {
      this.drop();
      throw fromDriver(error, 'wake-ups');
    }
  }
}

/** The server takes less than 8,000 bytes. */
const payloadBytes = 7_900;

/** Empty = any queue. */
export function payloadOf(queues: readonly string[]): string {
  const text = queues.join('\n');
  return queues.includes(anyQueue) || Buffer.byteLength(text) > payloadBytes ? '' : text;
}

function parsePayload(text: string): string[] | null {
  return text === '' ? null : text.split('\n');
}
