import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Direction = 'to-server' | 'to-client';

export interface FreezeOptions {
  /** Only what goes this way is held back. @default both */
  readonly direction?: Direction;
  /** Only connections on which the client has sent this text. @default all, also those that come later */
  readonly having?: string;
}

export interface TcpProxy extends AsyncDisposable {
  /** The address given, by way of the proxy. */
  readonly url: string;
  /** Connections that are open now. */
  readonly size: number;
  /** How many there have been. */
  readonly accepted: number;
  /** How many answers were kept from their clients. */
  readonly dropped: number;
  /** From now on nothing passes, and nobody is told: both ends keep their sockets. */
  freeze(options?: FreezeOptions): void;
  /** New connections pass again; frozen ones stay dead. */
  thaw(): void;
  /** Ends every connection there is: politely, or by a reset as from a crashed machine. */
  cut(how?: 'end' | 'reset'): void;
  /** Everything arrives so much later. */
  delay(ms: number): void;
  /**
   * Asked for each piece that clients send, numbered from 1: where it says so, the piece is passed on, and in place of the
   * answer the connection is reset, or nothing comes any more. Null lets every answer pass.
   */
  dropAnswers(plan: ((nth: number) => boolean) | null, how?: 'reset' | 'silence'): void;
}

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  /** What the client has sent, for `having`; its beginning and what came last. */
  sent: string;
  readonly frozen: Set<Direction>;
  /** Its next answer is not passed on. */
  isDoomed: boolean;
}

const both: readonly Direction[] = ['to-server', 'to-client'];
const longestSent = 64 * 1024;

/** Stands between a client and a server, to do to their connection what networks do. */
export async function tcpProxy(target: string): Promise<TcpProxy> {
  const address = new URL(target);
  const defaultPort = address.protocol.startsWith('postgres') ? 5432 : 3306;
  const links = new Set<Link>();
  let accepted = 0;
  let dropped = 0;
  let delayMs = 0;
  let sentPieces = 0;
  let plan: ((nth: number) => boolean) | null = null;
  let isSilent = false;
  const bornFrozen = new Set<Direction>();

  const pass = (link: Link, direction: Direction, chunk: Buffer): void => {
    if (link.frozen.has(direction)) return;
    const to = direction === 'to-server' ? link.upstream : link.client;
    if (delayMs === 0) to.write(chunk);
    else setTimeout(() => to.writable && to.write(chunk), delayMs);
  };
  const end = (link: Link, how: 'end' | 'reset'): void => {
    if (how === 'reset') link.client.resetAndDestroy();
    else link.client.destroy();
    link.upstream.destroy();
  };
  const server = createServer((client) => {
    accepted += 1;
    const upstream = connect(Number(address.port || defaultPort), address.hostname);
    const link: Link = { client, upstream, sent: '', frozen: new Set(bornFrozen), isDoomed: false };
    links.add(link);
    client.on('data', (chunk: Buffer) => {
      link.sent = `${link.sent}${chunk.toString('latin1')}`.slice(-longestSent);
      sentPieces += 1;
      if (plan?.(sentPieces) === true) link.isDoomed = true;
      pass(link, 'to-server', chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!link.isDoomed) {
        pass(link, 'to-client', chunk);
        return;
      }
      if (link.client.destroyed || link.frozen.has('to-client')) return;
      dropped += 1;
      if (isSilent) link.frozen.add('to-client');
      else end(link, 'reset');
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        links.delete(link);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    get size() {
      return links.size;
    },
    get accepted() {
      return accepted;
    },
    get dropped() {
      return dropped;
    },
    freeze({ direction, having } = {}) {
      const directions = direction === undefined ? both : [direction];
      if (having === undefined) for (const one of directions) bornFrozen.add(one);
      for (const link of links) {
        if (having !== undefined && !link.sent.includes(having)) continue;
        for (const one of directions) link.frozen.add(one);
      }
    },
    thaw: () => bornFrozen.clear(),
    cut(how = 'end') {
      for (const link of [...links]) end(link, how);
    },
    delay(ms) {
      delayMs = ms;
    },
    dropAnswers(next, how = 'reset') {
      plan = next;
      isSilent = how === 'silence';
      sentPieces = 0;
    },
    async [Symbol.asyncDispose]() {
      for (const link of [...links]) end(link, 'end');
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
