import { connect, createServer, type Server, Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { GuardProxy, type GuardProxyOptions } from '../../../src/browser/net/guard-proxy.js';
import { TargetPolicy } from '../../../src/browser/net/target-policy.js';
import { waitFor } from '../../support/wait-for.js';

const good = '93.184.216.34';
const silent = '93.184.216.35';
const open: { close(): void }[] = [];

afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

/** A server that says what it hears, and a proxy by which `good` is that server and `silent` nobody. */
async function stage(
  addresses: readonly string[],
  options: Partial<GuardProxyOptions> = {},
): Promise<{ port: number; guard: GuardProxy; tries: Socket[] }> {
  const server: Server = createServer((socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: echo } = server.address() as { port: number };
  const tries: Socket[] = [];
  const guard = new GuardProxy({
    policy: new TargetPolicy(),
    resolve: () => Promise.resolve(addresses),
    connect: ({ host }) => {
      const socket = host === good ? connect(echo, '127.0.0.1') : new Socket();
      tries.push(socket);
      return socket;
    },
    ...options,
  });
  open.push(guard, server);
  return { port: Number(new URL(await guard.listen()).port), guard, tries };
}

interface Client {
  readonly socket: Socket;
  readonly heard: Buffer[];
}

/** Asks for a host by name, as Chrome does. */
function ask(port: number, name: string): Client {
  const socket = connect(port, '127.0.0.1');
  const heard: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => heard.push(chunk));
  socket.on('error', () => undefined);
  socket.write(Buffer.from([5, 1, 0]));
  socket.write(
    Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), Buffer.from(name), Buffer.from([0, 80])]),
  );
  open.push({ close: () => socket.destroy() });
  return { socket, heard };
}

/** The reply code, once it is there. */
const replyOf = ({ heard }: Client): Promise<number> =>
  waitFor(
    () => {
      const all = Buffer.concat(heard);
      return all.length >= 12 && { code: all[3] as number };
    },
    { describe: 'a reply', deadlineMs: 15_000 },
  ).then(({ code }) => code);

test('what is said both ways passes, and an address that is silent gives way to the next', {
  timeout: 30_000,
}, async () => {
  const { port, guard } = await stage([silent, good]);
  const client = ask(port, 'slow.test');
  expect(await replyOf(client)).toBe(0);
  client.socket.write('hello');
  await waitFor(() => Buffer.concat(client.heard).toString('latin1').endsWith('hello'), {
    describe: 'an echo',
  });
  expect(guard.failureOf('slow.test')).toBeNull();
});

test('who is gone is connected for no longer, however many addresses there are', async () => {
  const { port, tries } = await stage(Array.from({ length: 200 }, () => silent));
  const clients = Array.from({ length: 10 }, () => ask(port, 'many.test'));
  await waitFor(() => tries.length === clients.length, { describe: 'a try for each' });
  for (const { socket } of clients) socket.destroy();
  await waitFor(() => tries.every(({ destroyed }) => destroyed), { describe: 'every try to end' });
  expect(tries.length).toBe(clients.length);
});

test('nothing goes on once it is closed', async () => {
  const { port, guard, tries } = await stage([silent, silent, silent]);
  const client = ask(port, 'stays.test');
  await waitFor(() => tries.length === 1, { describe: 'a try' });
  guard.close();
  await waitFor(() => client.socket.destroyed && tries.every(({ destroyed }) => destroyed), {
    describe: 'everything to end',
  });
  expect(tries.length).toBe(1);
});

test('thousands of refused hosts are a few lines', async () => {
  const told: string[] = [];
  const { port } = await stage(['10.0.0.1'], { onRefused: (host) => told.push(host) });
  for (let round = 0; round < 5; round += 1) {
    const clients = Array.from({ length: 20 }, (_, index) => ask(port, `h${round * 20 + index}.test`));
    for (const client of clients) expect(await replyOf(client)).toBe(2);
  }
  expect(told.length).toBe(20);
});

test.each([
  ['nothing of SOCKS', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ['a command that is not CONNECT', Buffer.from([5, 1, 0, 5, 2, 0, 1, 1, 1, 1, 1, 0, 80])],
  ['an offer without "no credentials"', Buffer.from([5, 1, 2])],
  ['an address of no kind', Buffer.from([5, 1, 0, 5, 1, 0, 9, 1, 1, 1, 1, 0, 80])],
])('%s ends the connection', async (_, bytes) => {
  const { port, tries } = await stage([good]);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.on('data', () => undefined);
  socket.write(bytes);
  await waitFor(() => socket.destroyed, { describe: 'the end of it' });
  expect(tries).toEqual([]);
});
