import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { DeepReadonly } from '../../src/internal/deep-readonly.js';
import type { HubMessage, WelcomeMessage } from '../../src/protocol/hub-messages.js';
import { linkProtocol } from '../../src/protocol/link-terms.js';
import { type WorkerMessage, workerMessage } from '../../src/protocol/worker-messages.js';

/** A connection as its server sees it. */
export interface ServedConnection {
  readonly socket: WebSocket;
  readonly received: WorkerMessage[];
  send(message: DeepReadonly<HubMessage>): void;
}

export interface ProtocolServer extends AsyncDisposable {
  readonly url: string;
  readonly connections: readonly ServedConnection[];
}

/** Answers hellos and beats as a hub would; everything else is the test's. A fake of the outside world, over a real socket. */
export async function protocolServer(
  answer: (message: WorkerMessage, connection: ServedConnection, nth: number) => void = () => undefined,
  terms: Partial<WelcomeMessage> = {},
): Promise<ProtocolServer> {
  const connections: ServedConnection[] = [];
  const server = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    handleProtocols: (offered) => (offered.has(linkProtocol) ? linkProtocol : false),
  });
  server.on('connection', (socket) => {
    const connection: ServedConnection = {
      socket,
      received: [],
      send: (message) => socket.send(JSON.stringify(message)),
    };
    connections.push(connection);
    const nth = connections.length;
    socket.on('message', (data) => {
      const message = workerMessage.parse(JSON.parse(String(data)));
      connection.received.push(message);
      if (message.type === 'hello') connection.send(welcome(message, nth, terms));
      else answer(message, connection, nth);
    });
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections,
    async [Symbol.asyncDispose]() {
      for (const { socket } of connections) socket.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function welcome(
  { id, held }: Extract<WorkerMessage, { type: 'hello' }>,
  epoch: number,
  terms: Partial<WelcomeMessage>,
): WelcomeMessage {
  return {
    ...{ type: 'welcome', re: id, workerId: 'w-1', hubId: 'h-1', epoch, adminState: 'active' },
    ...{ recycleAsked: false, paused: [], held: held.map((lease) => ({ ...lease, stopRequest: null })) },
    ...{ leaseMs: 45_000, heartbeatMs: 15_000, ttlMs: 120_000, pingMs: 30_000, silenceMs: 120_000 },
    ...{ maxFrameBytes: 2 * 1024 ** 2, maxPayloadBytes: 1024 ** 2, nowMs: Date.now() },
    ...terms,
  };
}
