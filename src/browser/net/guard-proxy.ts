/*
 * The way of all traffic of a worker's Chromes into the network: a SOCKS 5 proxy on the loopback, in this process. Chrome
 * asks it by name for each connection of each page, frame, worker and redirect, whatever the scheme; it resolves the name,
 * judges every address (`target-policy.ts`), and connects to one that it has judged, so that a name which stands for something
 * else a moment later gains nothing. Chrome itself resolves nothing.
 *
 *   greeting ──▶ request ──▶ resolving ──all addresses may be reached──▶ connecting ──▶ piping both ways
 *       │           │            └─ one may not be: refused                  └─ none answers: failed
 *       └───────────┴── not SOCKS, or too slow: closed
 *
 * What became of a host is kept for a while, since Chrome says the same of all that fails in a proxy: a job is told whether
 * its target was refused, has no address, or does not answer. It asks for no credentials: it lets nobody on this machine reach
 * what they could not reach without it. A page waits for it while a handler blocks the worker's main loop.
 */
import { lookup } from 'node:dns/promises';
import { createServer, isIP, connect as netConnect, type Server, type Socket } from 'node:net';
import { withDeadline } from '../../internal/deadline.js';
import { MillraceError } from '../../internal/errors.js';
import { bareHost } from '../../internal/public-address.js';
import { monotonicMs } from '../../worker/monotonic.js';
import { ConnectNotes } from './connect-notes.js';
import {
  accepted,
  type Heard,
  hearGreeting,
  hearRequest,
  type Reply,
  replyOf,
  type Target,
} from './socks-handshake.js';
import type { TargetPolicy } from './target-policy.js';

export interface GuardProxyOptions {
  readonly policy: TargetPolicy;
  /** A name → its addresses. @default the system's resolver */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /** @default `net.connect` */
  readonly connect?: (target: { readonly host: string; readonly port: number }) => Socket;
  /** A host was refused, for the first time in a while. */
  readonly onRefused?: (host: string, why: string) => void;
}

const handshakeMs = 10_000;
const resolveMs = 10_000;
/** To one address: the next one has its turn while a page still waits. */
const connectMs = 5_000;
/** Of one name; all of them are judged. */
const mostTries = 4;
/** Hosts that are told of in a minute: a page could name thousands. */
const mostTold = 20;
const toldMs = 60_000;
/** Nothing went either way: longer than any page leaves a socket silent that still serves it, bar WebSockets without pings. */
const idleMs = 10 * 60_000;
const listenMs = 5_000;
/** A Chrome opens at most 32 through one proxy. */
const mostSockets = 4_096;
const longestHandshake = 1_024;
const longestRest = 64 * 1024;

const resolveBySystem = async (name: string): Promise<string[]> =>
  (await lookup(name, { all: true, verbatim: true })).map(({ address }) => address);

export class GuardProxy {
  readonly #options: Required<GuardProxyOptions>;
  readonly #notes = new ConnectNotes();
  readonly #sockets = new Set<Socket>();
  #told = { sinceMs: 0, count: 0 };
  /** Of those whose target is being reached. */
  readonly #asking = new Set<AbortController>();
  #server: Server | null = null;
  #listening: Promise<string> | null = null;

  constructor(options: GuardProxyOptions) {
    this.#options = {
      resolve: resolveBySystem,
      connect: ({ host, port }) => netConnect({ host, port }),
      onRefused: () => undefined,
      ...options,
    };
  }

  get policy(): TargetPolicy {
    return this.#options.policy;
  }

  /** Its address as Chrome takes it, `socks5://127.0.0.1:4711`. Listens from the first call on; a failure is tried again by the next. */
  listen(): Promise<string> {
    this.#listening ??= this.#listen().catch((error: unknown) => {
      this.#listening = null;
      throw error;
    });
    return this.#listening;
  }

  /** What the last try to reach a host came to; null: it was reached, or nobody tried of late. */
  failureOf(host: string): { readonly kind: 'refused' | 'failed'; readonly why: string } | null {
    return this.#notes.of(bareHost(host));
  }

  close(): void {
    for (const gone of this.#asking) gone.abort();
    this.#server?.close();
    this.#server = null;
    this.#listening = null;
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  async #listen(): Promise<string> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket));
    server.unref();
    const ready = new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: '127.0.0.1', port: 0 }, resolve);
    });
    await withDeadline(ready, { ms: listenMs, name: 'listening for the traffic of Chrome' });
    server.on('error', () => undefined);
    this.#server = server;
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    this.policy.close({ host: '127.0.0.1', port });
    return `socks5://127.0.0.1:${port}`;
  }

  #serve(socket: Socket): void {
    if (this.#sockets.size >= mostSockets) {
      socket.destroy();
      return;
    }
    this.#keep(socket);
    socket.setTimeout(handshakeMs, () => socket.destroy());
    this.#handshake(socket).catch(() => socket.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
    socket.setNoDelay(true);
  }

  async #handshake(socket: Socket): Promise<void> {
    const ear = new Ear(socket);
    await ear.hear(hearGreeting);
    socket.write(accepted);
    const target = await ear.hear(hearRequest);
    // From here on each step has a time of its own, and ends when whoever asked is gone.
    socket.setTimeout(0);
    const gone = new AbortController();
    for (const event of ['close', 'end'] as const) socket.once(event, () => gone.abort());
    this.#asking.add(gone);
    const asked = { host: bareHost(target.host), port: target.port };
    const { reply, upstream } = await this.#reach(asked, gone.signal).finally(() =>
      this.#asking.delete(gone),
    );
    const rest = ear.end();
    if (upstream === null || gone.signal.aborted) {
      upstream?.destroy();
      socket.end(replyOf(reply));
      return;
    }
    socket.write(replyOf(reply));
    if (rest.length > 0) upstream.write(rest);
    join(socket, upstream);
  }

  async #reach(target: Target, gone: AbortSignal): Promise<{ reply: Reply; upstream: Socket | null }> {
    const judged = await this.#judge(target);
    if ('refusal' in judged) {
      if (this.#notes.note(target.host, 'refused', judged.refusal)) this.#tell(target.host, judged.refusal);
      return { reply: 'notAllowed', upstream: null };
    }
    if ('failure' in judged) {
      this.#notes.note(target.host, 'failed', judged.failure);
      return { reply: 'hostUnreachable', upstream: null };
    }
    let why = 'it does not answer';
    for (const address of judged.addresses.slice(0, mostTries)) {
      if (gone.aborted) break;
      try {
        const upstream = await this.#connectTo({ host: address, port: target.port }, gone);
        this.#notes.forget(target.host);
        return { reply: 'succeeded', upstream };
      } catch (error) {
        why = wordsOf(error);
      }
    }
    if (!gone.aborted) this.#notes.note(target.host, 'failed', why);
    return { reply: 'refused', upstream: null };
  }

  #tell(host: string, why: string): void {
    const nowMs = monotonicMs();
    if (nowMs - this.#told.sinceMs > toldMs) this.#told = { sinceMs: nowMs, count: 0 };
    this.#told.count += 1;
    if (this.#told.count < mostTold) this.#options.onRefused(host, why);
    else if (this.#told.count === mostTold)
      this.#options.onRefused(host, `${why}; others are not told of for a minute`);
  }

  /** Every address of the name has to be one that may be reached: one that does not answer may be followed by any other. */
  async #judge({
    host,
    port,
  }: Target): Promise<{ addresses: readonly string[] } | { refusal: string } | { failure: string }> {
    const { policy } = this.#options;
    const refusal = policy.refusalOfUrl(new URL(`http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`));
    if (refusal !== null) return { refusal };
    try {
      const addresses = isIP(host) === 0 ? await this.#resolved(host) : [host];
      const closed = await this.#closedOn(port);
      for (const address of addresses) {
        const why = policy.refusalOfAddress({ host, port, address }, closed);
        if (why !== null) return { refusal: why };
      }
      return addresses.length === 0 ? { failure: 'there is no such host' } : { addresses };
    } catch (error) {
      return { failure: wordsOf(error) };
    }
  }

  async #closedOn(port: number): Promise<string[]> {
    const doors = this.policy.closedOn(port).map(async (door) => {
      if (isIP(door) !== 0) return [door];
      return [door, ...(await this.#resolved(door).catch(() => []))];
    });
    return (await Promise.all(doors)).flat();
  }

  #resolved(name: string): Promise<readonly string[]> {
    return withDeadline(this.#options.resolve(name), { ms: resolveMs, name: `resolving ${name}` });
  }

  async #connectTo(target: { host: string; port: number }, gone: AbortSignal): Promise<Socket> {
    const socket = this.#options.connect(target);
    this.#keep(socket);
    const giveUp = (): void => void socket.destroy();
    gone.addEventListener('abort', giveUp, { once: true });
    try {
      const connected = new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('error', reject);
        socket.once('close', () => reject(new Error('the connection was closed')));
      });
      await withDeadline(connected, { ms: connectMs, name: `connecting to ${target.host}` });
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      gone.removeEventListener('abort', giveUp);
    }
  }
}

/** Until one of them has been silent for long, or is over. */
function join(a: Socket, b: Socket): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.setTimeout(idleMs, () => from.destroy());
    from.pipe(to);
    // What it said last may still be on its way to the other.
    from.on('close', () => to.destroySoon());
  }
}

const namesOfErrors: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name can’t be resolved now',
  ECONNREFUSED: 'nothing listens there',
  ENETUNREACH: 'there is no way to its network',
  EHOSTUNREACH: 'there is no way to it',
  ETIMEDOUT: 'it does not answer',
};

function wordsOf(error: unknown): string {
  if (error instanceof MillraceError) return 'it does not answer';
  const { code, message } = error as NodeJS.ErrnoException;
  return namesOfErrors[code ?? ''] ?? message;
}

/** What a socket says before it is joined to another. */
class Ear {
  readonly #socket: Socket;
  #heard: Buffer = Buffer.alloc(0);
  #onMore: () => void = () => undefined;
  readonly #onData = (chunk: Buffer): void => {
    this.#heard = Buffer.concat([this.#heard, chunk]);
    // Nobody says much before the answer.
    if (this.#heard.length > longestRest) this.#socket.destroy();
    this.#onMore();
  };
  readonly #closed: Promise<never>;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', this.#onData);
    this.#closed = new Promise((_, reject) => {
      socket.once('close', () => reject(new Error('closed')));
      socket.once('end', () => reject(new Error('ended')));
    });
    this.#closed.catch(() => undefined);
  }

  async hear<T>(understand: (chunk: Buffer) => Heard<T>): Promise<T> {
    for (;;) {
      const heard = understand(this.#heard);
      if (heard === 'wrong' || this.#heard.length > longestHandshake) throw new Error('not SOCKS 5');
      if (heard !== 'more') {
        this.#heard = this.#heard.subarray(heard.bytes);
        return heard.value;
      }
      const more = new Promise<void>((resolve) => {
        this.#onMore = resolve;
      });
      await Promise.race([more, this.#closed]);
    }
  }

  /** What was said beyond it. */
  end(): Buffer {
    this.#socket.pause();
    this.#socket.off('data', this.#onData);
    return this.#heard;
  }
}
