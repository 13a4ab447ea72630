import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { WebSocket, WebSocketServer } from 'ws';
import { AccessTokens, type CreatedToken } from '../../../src/client/access-tokens.js';
import { Millrace } from '../../../src/client/millrace.js';
import { registerApi } from '../../../src/hub/api/register-api.js';
import type { OwnToken } from '../../../src/hub/auth/authenticator.js';
import { HubAuth } from '../../../src/hub/auth/hub-auth.js';
import { refuseUpgrade } from '../../../src/hub/auth/refusal.js';
import { type ServerLimits, serverOptions } from '../../../src/hub/auth/server-limits.js';
import { createLineLogger } from '../../../src/internal/logger.js';
import { resolveSettings, type SettingValues } from '../../../src/internal/settings.js';
import { closeCodes } from '../../../src/protocol/link-terms.js';
import type { TokenRole } from '../../../src/storage/access-token.js';
import type { Storage } from '../../../src/storage/storage.js';

const deadlineMs = 20_000;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  json(): Record<string, unknown>;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is a text. */
  readonly body?: unknown;
}

export interface GuardedHub extends AsyncDisposable {
  readonly port: number;
  readonly auth: HubAuth;
  /** Everything that was logged, as lines. */
  readonly lines: string[];
  ask(path: string, asked?: Asked): Promise<Answer>;
  /** An answer that goes on until somebody ends it. */
  stream(path: string, headers: Readonly<Record<string, string>>): Promise<TestStream>;
  /** Sends bytes as they are and resolves with all that came back, once the hub has closed. */
  raw(...parts: readonly string[]): Promise<string>;
  /** A socket of a worker that says hello with this token. */
  link(token: string | null, headers?: Readonly<Record<string, string>>): TestSocket;
  /** A socket of a browser. */
  live(query: string, headers?: Readonly<Record<string, string>>): TestSocket;
}

export interface TestStream {
  readonly headers: IncomingHttpHeaders;
  readonly ended: Promise<void>;
  end(): void;
}

export interface TestSocket {
  readonly socket: WebSocket;
  /** `in` once it was let in, else the close code or the HTTP status. */
  readonly outcome: Promise<'in' | number>;
  readonly closed: Promise<number>;
}

export interface HubTestOptions {
  readonly settings?: Partial<SettingValues>;
  readonly limits?: ServerLimits;
  readonly own?: readonly OwnToken[];
  readonly host?: string;
}

export function makeToken(storage: Storage, role: TokenRole, expires?: string): Promise<CreatedToken> {
  return new AccessTokens(() => Promise.resolve(storage)).create({ role, name: `the ${role}`, expires });
}

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

/** The API and a route for each role and the two kinds of sockets, guarded as a hub is. */
export async function guardedHub(storage: Storage, options: HubTestOptions = {}): Promise<GuardedHub> {
  const lines: string[] = [];
  const logger = createLineLogger({ write: (line) => lines.push(line), level: 'debug' });
  const settings = { ...resolveSettings({}).values, ...options.settings };
  const { host = '127.0.0.1', own } = options;
  const auth = new HubAuth({ storage, settings, logger, host, own });
  const app = fastify(serverOptions(options.limits));
  auth.protect(app);
  const client: Millrace = new Millrace({ database: storage, jobs: [] });
  await registerApi(app, { client, logger });
  addRoutes(app);
  const sockets = addSockets(app, auth);
  await app.listen({ port: 0, host });
  const { port } = app.server.address() as AddressInfo;
  return {
    port,
    auth,
    lines,
    ask: (path, asked) => ask(port, path, asked),
    stream: (path, headers) => stream(port, path, headers),
    raw: (...parts) => raw(port, parts),
    link: (token, headers) => link(port, token, headers),
    live: (query, headers) => live(port, query, headers),
    async [Symbol.asyncDispose]() {
      auth[Symbol.dispose]();
      for (const client of sockets.clients) client.terminate();
      app.server.closeAllConnections();
      await app.close();
      await client.close();
    },
  };
}

function addRoutes(app: FastifyInstance): void {
  app.get('/reads/:id', { config: { role: 'read' } }, (request) => ({
    id: (request.params as { id: string }).id,
  }));
  app.post('/submits', { config: { role: 'submit' } }, (request) => ({
    got: request.body ?? null,
    by: request.identity?.actor,
  }));
  app.post('/links', { config: { role: 'worker' } }, () => ({ ok: true }));
  app.get('/streams', { config: { role: 'read' } }, (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write(': begun\n\n');
  });
  app.post('/admins', (request) => ({ by: request.identity }));
}

function addSockets(app: FastifyInstance, auth: HubAuth): WebSocketServer {
  const server = new WebSocketServer({ noServer: true, maxPayload: 2 * 1024 ** 2 });
  app.server.on('upgrade', (request, socket, head) => {
    void auth.checkUpgrade(request).then(async (refusal) => {
      if (refusal !== null) return refuseUpgrade(socket, refusal);
      const url = new URL(request.url ?? '', 'http://hub');
      if (url.pathname !== '/live') {
        return server.handleUpgrade(request, socket, head, (client) => takeWorker(client, auth));
      }
      const known = await auth.browser(url.searchParams.get('ticket'), request);
      if (!known.ok) return refuseUpgrade(socket, known.refusal);
      return server.handleUpgrade(request, socket, head, (client) => client.send('in'));
    });
  });
  return server;
}

function takeWorker(client: WebSocket, auth: HubAuth): void {
  client.once('message', (data) => {
    const { token } = JSON.parse(String(data)) as { token: string | null };
    void auth.authenticate(token ?? undefined, '127.0.0.1').then((known) => {
      if (!known.ok) return client.close(closeCodes.unauthorized, known.reason.slice(0, 100));
      const held = auth.hold(known.identity, (reason) => client.close(closeCodes.unauthorized, reason));
      client.once('close', () => held[Symbol.dispose]());
      return client.send('in');
    });
  });
}

function ask(port: number, path: string, asked: Asked = {}): Promise<Answer> {
  const { method = asked.body === undefined ? 'GET' : 'POST', body } = asked;
  const sent = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const headers: Record<string, string> = {
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    ...(sent === undefined ? {} : { 'content-length': String(Buffer.byteLength(sent)) }),
    ...asked.headers,
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port, host: '127.0.0.1', path, method, headers, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject).on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: () => JSON.parse(text) as Record<string, unknown>,
          });
        });
      },
    );
    request.setTimeout(deadlineMs, () => request.destroy(new Error(`no answer to ${method} ${path}`)));
    request.on('error', reject).end(sent);
  });
}

function stream(port: number, path: string, headers: Readonly<Record<string, string>>): Promise<TestStream> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', path, headers, agent: false }, (response) => {
      const ended = new Promise<void>((end) => response.once('close', end));
      // How it ends is what a test asks.
      response
        .on('error', () => undefined)
        .once('data', () => {
          resolve({ headers: response.headers, ended, end: () => request.destroy() });
        });
    });
    request.setTimeout(deadlineMs, () => request.destroy(new Error(`no stream at ${path}`)));
    request.on('error', reject).end();
  });
}

function raw(port: number, parts: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setTimeout(deadlineMs, () => socket.destroy(new Error('the hub neither answered nor closed')));
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('error', reject).on('close', () => resolve(text));
    for (const part of parts) socket.write(part);
  });
}

function link(
  port: number,
  token: string | null,
  headers: Readonly<Record<string, string>> = {},
): TestSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/workers/w-1/link`, { headers });
  socket.once('open', () => socket.send(JSON.stringify({ token })));
  return watched(socket);
}

function live(port: number, query: string, headers: Readonly<Record<string, string>> = {}): TestSocket {
  return watched(new WebSocket(`ws://127.0.0.1:${port}/live${query}`, { headers }));
}

function watched(socket: WebSocket): TestSocket {
  const closed = new Promise<number>((resolve) => socket.once('close', (code) => resolve(code)));
  const outcome = new Promise<'in' | number>((resolve) => {
    socket.once('message', () => resolve('in'));
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    void closed.then(resolve);
  });
  // What goes wrong is told by the outcome.
  socket.on('error', () => undefined);
  return { socket, outcome, closed };
}
