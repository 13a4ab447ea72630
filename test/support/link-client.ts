import { randomBytes } from 'node:crypto';
import WebSocket from 'ws';
import type { HubMessage } from '../../src/protocol/hub-messages.js';
import type { take } from '../../src/protocol/job-shapes.js';
import { linkPath, linkProtocol } from '../../src/protocol/link-terms.js';
import type { HelloMessage, WantShape, WorkerMessage } from '../../src/protocol/worker-messages.js';
import type { ClaimedJob, Lease } from '../../src/storage/claimed-job.js';
import type { Settlement } from '../../src/storage/settlement.js';
import { blankStatus } from '../../src/worker/link/link.js';
import { waitFor } from './wait-for.js';

type Of<Type extends HubMessage['type']> = Extract<HubMessage, { type: Type }>;
type Take = (typeof take)['_output'];
/** A message without what the client counts by itself. */
type Unnumbered<Message> = Message extends { id: number } ? Omit<Message, 'id'> : Message;

export interface LinkClientOptions {
  readonly id?: string;
  readonly incarnation?: string;
  readonly protocols?: readonly string[];
  readonly hello?: Partial<HelloMessage>;
}

const deadlineMs = 20_000;

/** Speaks the worker's half of the protocol by hand, and keeps what it hears. */
export class LinkClient implements AsyncDisposable {
  readonly id: string;
  readonly incarnation: string;
  readonly socket: WebSocket;
  readonly heard: HubMessage[] = [];
  closed: { readonly code: number; readonly reason: string } | null = null;
  #lastId = 0;
  readonly #hello: Partial<HelloMessage>;

  private constructor(url: string, options: LinkClientOptions) {
    this.id = options.id ?? `w-${randomBytes(6).toString('hex')}`;
    this.incarnation = options.incarnation ?? randomBytes(8).toString('hex');
    this.#hello = options.hello ?? {};
    const address = url.replace(/^http/, 'ws') + linkPath(this.id);
    this.socket = new WebSocket(address, [...(options.protocols ?? [linkProtocol])]);
    this.socket.on('message', (data) => this.#take(JSON.parse(String(data)) as HubMessage));
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    this.socket.on('error', () => undefined);
  }

  /** Resolves once the socket is open; nothing was said yet. */
  static async connect(url: string, options: LinkClientOptions = {}): Promise<LinkClient> {
    const client = new LinkClient(url, options);
    await waitFor(() => client.socket.readyState === WebSocket.OPEN, {
      describe: 'a link to open',
      deadlineMs,
    });
    return client;
  }

  /** Resolves once it is welcomed. */
  static async join(url: string, options: LinkClientOptions = {}): Promise<LinkClient> {
    const client = await LinkClient.connect(url, options);
    await client.hello();
    return client;
  }

  async hello(fields: Partial<HelloMessage> = {}): Promise<Of<'welcome'>> {
    return await this.ask('welcome', { ...this.helloMessage(), ...fields });
  }

  helloMessage(): Unnumbered<HelloMessage> {
    return {
      type: 'hello',
      incarnation: this.incarnation,
      ended: null,
      host: 'host.example',
      pid: 4_711,
      version: '0.1.0',
      queues: ['default'],
      handlers: [{ name: 'work', lane: 'inline' }],
      labels: [],
      concurrency: 10,
      restarts: 0,
      held: [],
      status: this.status(),
      ...this.#hello,
    };
  }

  status(state = 'RUNNING'): HelloMessage['status'] {
    return structuredClone({ ...blankStatus, state }) as HelloMessage['status'];
  }

  /** Sends it with the next id, and returns that. */
  send(message: Unnumbered<WorkerMessage>): number {
    this.#lastId += 1;
    this.sendRaw(JSON.stringify({ id: this.#lastId, ...message }));
    return this.#lastId;
  }

  sendRaw(data: string | Buffer): void {
    this.socket.send(data);
  }

  /** Sends it and waits for its answer, which must be of this type. */
  async ask<Type extends HubMessage['type']>(
    type: Type,
    message: Unnumbered<WorkerMessage>,
  ): Promise<Of<Type>> {
    const answer = await this.answerTo(this.send(message));
    if (answer.type !== type) throw new Error(`expected ${type}, got ${JSON.stringify(answer)}`);
    return answer as Of<Type>;
  }

  /** The first message with this `re`. */
  async answerTo(re: number): Promise<HubMessage> {
    return await waitFor(() => this.heard.find((message) => 're' in message && message.re === re), {
      describe: () => `an answer to message ${re} (closed: ${JSON.stringify(this.closed)})`,
      deadlineMs,
      intervalMs: 2,
    });
  }

  /** All of this type that were heard so far. */
  all<Type extends HubMessage['type']>(type: Type): Of<Type>[] {
    return this.heard.filter((message): message is Of<Type> => message.type === type);
  }

  /** Resolves with the first of this type that fits. */
  async next<Type extends HubMessage['type']>(
    type: Type,
    fits: (message: Of<Type>) => boolean = () => true,
  ): Promise<Of<Type>> {
    return await waitFor(() => this.all(type).find(fits), {
      describe: `a ${type} message`,
      deadlineMs,
      intervalMs: 2,
    });
  }

  /** Jobs that were assigned so far, in order. */
  get assigned(): ClaimedJob[] {
    return this.all('assign').flatMap(({ jobs }) => jobs);
  }

  get lastAssign(): number {
    return this.all('assign').at(-1)?.assign ?? 0;
  }

  take(limit: number, with_: Partial<Take> = {}): Take {
    return { queues: ['default'], names: ['work'], limit, start: limit, ...with_ };
  }

  /** Says what room there is, and what is to be settled; returns the id. */
  want(
    takes: readonly Take[],
    with_: Partial<WantShape> = {},
    settlements: readonly Settlement[] = [],
  ): number {
    const want: WantShape = { after: this.lastAssign, takes: [...takes], alone: false, ...with_ };
    return this.send({ type: 'settle', settlements: [...settlements], want });
  }

  settle(settlements: readonly Settlement[]): Promise<Of<'settled'>> {
    return this.ask('settled', { type: 'settle', settlements: [...settlements], want: null });
  }

  async closing(): Promise<{ readonly code: number; readonly reason: string }> {
    return await waitFor(() => this.closed, { describe: 'the link to close', deadlineMs });
  }

  /** Without a word. */
  cut(): void {
    this.socket.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.closed === null) this.socket.terminate();
    await waitFor(() => this.socket.readyState === WebSocket.CLOSED, {
      describe: 'the link to end',
      deadlineMs,
    });
  }

  #take(message: HubMessage): void {
    this.heard.push(message);
  }
}

export const completed = ({ id, token }: Lease): Settlement => ({
  id,
  token,
  kind: 'completed',
  result: null,
});
