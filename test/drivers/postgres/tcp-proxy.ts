import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy extends AsyncDisposable {
  /** The address given, by way of the proxy. */
  readonly url: string;
  /** From now on nothing passes, and nobody is told: both ends keep their sockets. */
  freeze(): void;
  /** New connections pass again; frozen ones stay dead. */
  thaw(): void;
  /** Ends every connection there is. */
  cut(): void;
}

/** Stands between a client and a server, to do to their connection what networks do. */
export async function tcpProxy(target: string): Promise<TcpProxy> {
  const address = new URL(target);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((client) => {
    const upstream = connect(Number(address.port || 5432), address.hostname);
    const bornFrozen = isFrozen;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!isFrozen && !bornFrozen && !frozen.has(from)) to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const frozen = new Set<Socket>();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) frozen.add(socket);
    },
    thaw() {
      isFrozen = false;
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
