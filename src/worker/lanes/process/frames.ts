/**
 * How messages cross the pipe between a worker and the child of a process lane: four bytes of length, most significant
 * first, then so many bytes of JSON. A frame above the cap, or one that is no JSON, can't be skipped with any trust in what
 * follows, so it ends the pipe, and with it the child.
 */
import { MillraceError } from '../../../internal/errors.js';

const headBytes = 4;
/** An input of 1 MB and failures of 256 KB, both texts that become texts in JSON again and so at most twice as long, and room for the rest. */
export const maxFrameBytes = 4 * 1024 ** 2;

/** @throws MillraceError `payload-too-large` */
export function encodeFrame(message: object): Buffer {
  const body = JSON.stringify(message);
  const bytes = Buffer.byteLength(body);
  if (bytes > maxFrameBytes) throw tooLarge(bytes);
  const frame = Buffer.allocUnsafe(headBytes + bytes);
  frame.writeUInt32BE(bytes, 0);
  frame.write(body, headBytes, 'utf8');
  return frame;
}

/** Puts chunks together; each whole message is handed on at once. */
export class FrameReader {
  readonly #onMessage: (message: unknown) => void;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(onMessage: (message: unknown) => void) {
    this.#onMessage = onMessage;
  }

  /** @throws MillraceError `payload-too-large`, `json-invalid`; take no more chunks after that */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= headBytes) {
      const bytes = this.#front(headBytes).readUInt32BE(0);
      if (bytes > maxFrameBytes) throw tooLarge(bytes);
      if (this.#size < headBytes + bytes) return;
      const body = this.#front(headBytes + bytes).toString('utf8', headBytes, headBytes + bytes);
      this.#drop(headBytes + bytes);
      this.#onMessage(parse(body));
    }
  }

  /** The first bytes in one piece. Chunks are joined only when a frame lies across them. */
  #front(bytes: number): Buffer {
    const [first] = this.#chunks as [Buffer];
    if (first.length >= bytes) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #drop(bytes: number): void {
    const [first, ...rest] = this.#chunks as [Buffer, ...Buffer[]];
    this.#size -= bytes;
    this.#chunks = first.length === bytes ? rest : [first.subarray(bytes), ...rest];
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new MillraceError('json-invalid', 'a message between a worker and its lane is no JSON', {
      cause: error,
    });
  }
}

function tooLarge(bytes: number): MillraceError {
  return new MillraceError(
    'payload-too-large',
    `a message between a worker and its lane: expected at most ${maxFrameBytes} bytes, got ${bytes}`,
    { details: { bytes, maxBytes: maxFrameBytes } },
  );
}
