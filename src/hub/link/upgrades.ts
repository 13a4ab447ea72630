/** The handshake: which requests become connections of workers, and what the others are told. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { describeFailure } from '../../internal/failure.js';
import { linkProtocol, maxFrameBytes, workerIdPattern } from '../../protocol/link-terms.js';
import type { HubContext } from '../hub-context.js';
import type { WorkerLink } from './worker-link.js';

export interface UpgradeRefusal {
  readonly status: number;
  /** One sentence. */
  readonly reason: string;
  /** When it is worth to try again. */
  readonly retryAfterS?: number;
}

export interface UpgradesParts {
  readonly context: HubContext;
  readonly link: WorkerLink;
  /** Why a request is refused whoever sent it: foreign hosts and pages, too many; null: it may go on. */
  readonly check: (request: IncomingMessage) => Promise<UpgradeRefusal | null>;
}

const linkPathPattern = /^\/workers\/([^/]{1,300})\/link$/;
const goingDown = 'This hub goes down.';
const statusTexts: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  421: 'Misdirected Request',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};

export class Upgrades {
  readonly #parts: UpgradesParts;
  readonly #sockets: WebSocketServer;
  #isClosed = false;

  constructor(parts: UpgradesParts) {
    this.#parts = parts;
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: maxFrameBytes,
      perMessageDeflate: false,
      handleProtocols: (offered) => (offered.has(linkProtocol) ? linkProtocol : false),
    });
    this.#sockets.on('wsClientError', (error, socket) =>
      this.#refuse(socket, { status: 400, reason: `${error.message}.` }),
    );
  }

  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // Until it is a connection nobody else listens, and a reset must not end the process.
      socket.on('error', () => undefined);
      this.#take(request, socket, head).catch((error: unknown) => {
        this.#parts.context.logger.error('a handshake could not be handled', {
          error: describeFailure(error).message,
        });
        this.#refuse(socket, { status: 503, reason: 'The handshake could not be handled.' });
      });
    });
  }

  /** Every request from now on is told to go elsewhere. */
  close(): void {
    this.#isClosed = true;
    this.#sockets.close();
  }

  async #take(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const refusal = await this.#parts.check(request);
    const wantedId = refusal ?? this.#workerIdOf(request);
    if (typeof wantedId !== 'string') {
      this.#refuse(socket, wantedId);
      return;
    }
    const address = request.socket.remoteAddress ?? '';
    this.#sockets.handleUpgrade(request, socket, head, (connection) => {
      this.#parts.link.accept(connection, { wantedId, address });
    });
  }

  #workerIdOf(request: IncomingMessage): string | UpgradeRefusal {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const [, encoded] = linkPathPattern.exec(path) ?? [];
    if (encoded === undefined) return { status: 404, reason: 'There is nothing at this path to connect to.' };
    if (new URLSearchParams(query).has('token')) {
      return { status: 400, reason: 'A token does not belong in an address; it is sent in the hello.' };
    }
    const id = decoded(encoded);
    if (id === null || !workerIdPattern.test(id)) {
      return { status: 400, reason: 'A worker id is 1 to 100 of the letters A-Z a-z, digits and _ . : -' };
    }
    if (this.#isClosed) return { status: 503, reason: goingDown };
    if (request.headers['sec-websocket-version'] !== '13') {
      return { status: 426, reason: 'Expected version 13 of WebSocket.' };
    }
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    if (offered.includes(linkProtocol)) return id;
    return { status: 400, reason: `Expected the sub-protocol ${linkProtocol}; this hub speaks no other.` };
  }

  #refuse(socket: Duplex, { status, reason, retryAfterS }: UpgradeRefusal): void {
    this.#parts.context.metrics.refusedHandshakes += 1;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const lines = [
      `HTTP/1.1 ${status} ${statusTexts[status] ?? ''}`,
      'Connection: close',
      'Content-Type: text/plain; charset=utf-8',
      'X-Content-Type-Options: nosniff',
      `Content-Length: ${Buffer.byteLength(reason)}`,
      ...(retryAfterS === undefined ? [] : [`Retry-After: ${retryAfterS}`]),
      ...(status === 426 ? ['Upgrade: websocket', 'Sec-WebSocket-Version: 13'] : []),
    ];
    socket.once('finish', () => socket.destroy());
    socket.end(`${lines.join('\r\n')}\r\n\r\n${reason}`);
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded as it should be: no id.
    return null;
  }
}
