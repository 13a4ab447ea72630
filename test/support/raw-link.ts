/** A WebSocket client of bytes: it can break every rule of RFC 6455, which no library would. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { waitFor } from './wait-for.js';

export const opcodes = {
  continuation: 0x0,
  text: 0x1,
  binary: 0x2,
  close: 0x8,
  ping: 0x9,
  pong: 0xa,
} as const;

export interface RawFrame {
  readonly opcode: number;
  readonly payload?: Buffer | string;
  /** @default true */
  readonly isFinal?: boolean;
  /** @default true */
  readonly isMasked?: boolean;
  /** Bits 4, 2, 1 for RSV1, RSV2, RSV3. @default 0 */
  readonly reserved?: number;
  /** Claimed in the header in place of the real length; always in its 64-bit form. */
  readonly claimedLength?: bigint;
}

export interface ReceivedFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

const deadlineMs = 20_000;

export function encodeFrame(frame: RawFrame): Buffer {
  const payload = Buffer.from(frame.payload ?? '');
  const mask = frame.isMasked === false ? null : randomBytes(4);
  const first = (frame.isFinal === false ? 0 : 0x80) | ((frame.reserved ?? 0) << 4) | frame.opcode;
  const body = mask === null ? payload : payload.map((byte, index) => byte ^ (mask[index % 4] as number));
  const lengths = encodeLength(
    frame.claimedLength ?? BigInt(payload.length),
    frame.claimedLength !== undefined,
  );
  lengths[0] = (lengths[0] as number) | (mask === null ? 0 : 0x80);
  return Buffer.concat([Buffer.from([first]), lengths, mask ?? Buffer.alloc(0), body]);
}

function encodeLength(length: bigint, isLong: boolean): Buffer {
  if (length < 126n && !isLong) return Buffer.from([Number(length)]);
  if (length < 65_536n && !isLong) return Buffer.from([126, Number(length >> 8n), Number(length & 255n)]);
  const long = Buffer.alloc(9);
  long[0] = 127;
  long.writeBigUInt64BE(length, 1);
  return long;
}

export class RawLink implements Disposable {
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #head: string | null = null;
  readonly frames: ReceivedFrame[] = [];
  isEnded = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      this.#read();
    });
    // A reset is one of the ends that are awaited here.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isEnded = true;
    });
  }

  /** Sends the text of a request as it stands. */
  static request(port: number, text: string, { keepsOpen = false } = {}): RawLink {
    const link = new RawLink(connect({ host: '127.0.0.1', port, allowHalfOpen: keepsOpen }));
    link.send(Buffer.from(text, 'latin1'));
    return link;
  }

  /** Status line and headers of the answer, and of a refusal its body. */
  async answer(): Promise<string> {
    return await waitFor(() => this.#head, { describe: 'an answer to the handshake', deadlineMs });
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  frame(frame: RawFrame): void {
    this.send(encodeFrame(frame));
  }

  text(message: unknown): void {
    this.frame({
      opcode: opcodes.text,
      payload: typeof message === 'string' ? message : JSON.stringify(message),
    });
  }

  /** The next text message of this type that was not yet taken. */
  async next(type: string): Promise<Record<string, unknown>> {
    return await waitFor(
      () => {
        const index = this.frames.findIndex(
          ({ opcode, payload }) => opcode === opcodes.text && payload.includes(`"type":"${type}"`),
        );
        if (index === -1) return null;
        const [found] = this.frames.splice(index, 1);
        return JSON.parse(String(found?.payload)) as Record<string, unknown>;
      },
      { describe: `a message of type ${type}; got ${this.#got()}`, deadlineMs },
    );
  }

  /** The code that the other end closes with; 1006 when it ends without a word. */
  async closeCode(): Promise<number> {
    return await waitFor(
      () => {
        const close = this.frames.find(({ opcode }) => opcode === opcodes.close);
        if (close !== undefined) return close.payload.length < 2 ? 1005 : close.payload.readUInt16BE(0);
        return this.isEnded && 1006;
      },
      { describe: () => `a close; got ${this.#got()}`, deadlineMs },
    );
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #got(): string {
    return this.frames
      .map(({ opcode, payload }) => `${opcode} ${payload.toString().slice(0, 200)}`)
      .join(' · ');
  }

  #read(): void {
    if (this.#head === null) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = this.#bytes.toString('latin1', 0, end);
      const rest = this.#bytes.subarray(end + 4);
      const isOpen = head.startsWith('HTTP/1.1 101');
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
      if (!isOpen && rest.length < length) return;
      this.#head = isOpen ? head : `${head}\n\n${rest.toString()}`;
      this.#bytes = isOpen ? rest : Buffer.alloc(0);
    }
    for (let frame = this.#takeFrame(); frame !== null; frame = this.#takeFrame()) this.frames.push(frame);
  }

  /** Those of a hub are whole and not masked. */
  #takeFrame(): ReceivedFrame | null {
    const bytes = this.#bytes;
    if (bytes.length < 2) return null;
    const short = (bytes[1] as number) & 0x7f;
    const headLength = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < headLength) return null;
    const length =
      short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (bytes.length < headLength + length) return null;
    this.#bytes = bytes.subarray(headLength + length);
    return { opcode: (bytes[0] as number) & 0x0f, payload: bytes.subarray(headLength, headLength + length) };
  }
}

export interface HandshakeOptions {
  /** @default '/workers/w-raw/link' */
  readonly path?: string;
  /** Replace the usual headers of the same name; null: left out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** @default 'GET' */
  readonly method?: string;
  /** Does not end its side when the other has ended. @default false */
  readonly keepsOpen?: boolean;
}

export function handshake({
  path = '/workers/w-raw/link',
  headers = {},
  method = 'GET',
}: HandshakeOptions = {}): string {
  const all: Record<string, string | null> = {
    Host: '127.0.0.1',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    'Sec-WebSocket-Protocol': 'millrace.v1',
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

/** Open, and not yet greeted. */
export async function openRawLink(port: number, options: HandshakeOptions = {}): Promise<RawLink> {
  const link = RawLink.request(port, handshake(options), options);
  const answer = await link.answer();
  if (!answer.startsWith('HTTP/1.1 101')) throw new Error(`the handshake was refused: ${answer}`);
  return link;
}

const idleStatus = {
  state: 'RUNNING',
  transitions: [],
  drain: null,
  running: 0,
  lanes: [],
  jobsDone: 0,
  usage: { cpu: 0, rssBytes: 0, heapBytes: 0, loopLagMs: 0, disk: null },
  details: {},
};

export const rawBeat = (id: number): Record<string, unknown> => ({ type: 'beat', id, status: idleStatus });

export const rawHello = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  type: 'hello',
  id: 1,
  incarnation: randomBytes(8).toString('hex'),
  ended: null,
  host: 'test',
  pid: 1,
  version: 'test',
  queues: ['default'],
  handlers: [{ name: 'greet', lane: 'inline' }],
  labels: [],
  concurrency: 2,
  restarts: 0,
  held: [],
  status: idleStatus,
  ...more,
});
