/**
 * Sends the bytes of a file through a port, piece by piece, as many at once as it takes. What a broken way has swallowed is
 * sent again from where the other end says it is; no more is kept here than what may be on its way.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isMillraceError, MillraceError } from '../../internal/errors.js';
import type { FileRecord } from '../job-file.js';
import { type FilePort, pieceBytes, type UploadStart, type UploadState } from './file-port.js';
import { uploadLost } from './store-errors.js';

interface Piece {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Never rejects; what it resolves with is the failure. */
  readonly sent: Promise<unknown>;
}

const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** What another try may cure, with the bytes that are still here. */
const isOfTheWay = (error: unknown): boolean =>
  isMillraceError(error) && error.retryable && !error.code.startsWith('file-');

/** Rejects with the reason of the signal, as soon as it fires; else as the port does. */
export async function putFile(
  port: FilePort,
  start: UploadStart,
  { content, signal }: { readonly content: AsyncIterable<Uint8Array>; readonly signal: AbortSignal },
): Promise<FileRecord> {
  const upload = new Upload(port, start, signal);
  try {
    return await upload.run(content);
  } catch (error) {
    // Best effort: what is left behind goes with a sweep.
    port.drop(start).catch(() => undefined);
    throw error;
  }
}

class Upload {
  readonly #port: FilePort;
  readonly #start: UploadStart;
  readonly #signal: AbortSignal;
  readonly #onItsWay: Piece[] = [];
  #offset = 0;

  constructor(port: FilePort, start: UploadStart, signal: AbortSignal) {
    this.#port = port;
    this.#start = start;
    this.#signal = signal;
  }

  async run(content: AsyncIterable<Uint8Array>): Promise<FileRecord> {
    await this.#patiently(() => this.#port.begin(this.#start));
    for await (const bytes of piecesOf(content, this.#signal)) {
      if (this.#onItsWay.length >= this.#port.window) await this.#settleFirst();
      this.#send(bytes);
    }
    while (this.#onItsWay.length > 0) await this.#settleFirst();
    return await this.#patiently(() => this.#port.end(this.#start, this.#offset));
  }

  #send(bytes: Uint8Array): void {
    const offset = this.#offset;
    this.#offset += bytes.length;
    const sent = this.#port.piece(this.#start, offset, bytes).then(
      () => null,
      (error: unknown) => error,
    );
    this.#onItsWay.push({ offset, bytes, sent });
  }

  async #settleFirst(): Promise<void> {
    const failure = await this.#unlessAborted((this.#onItsWay[0] as Piece).sent);
    if (failure === null) this.#onItsWay.shift();
    else if (isOfTheWay(failure)) await this.#sendAgain();
    else throw failure;
  }

  /** One by one, until nothing is on its way any more. */
  async #sendAgain(): Promise<void> {
    await Promise.all(this.#onItsWay.map(({ sent }) => this.#unlessAborted(sent)));
    await this.#patiently(async () => {
      const { heldBytes, file } = await this.#port.begin(this.#start);
      if (file !== null) return;
      const first = this.#onItsWay[0];
      if (first !== undefined && heldBytes < first.offset)
        throw uploadLost(this.#start.id, `${heldBytes} bytes are there, ${first.offset} were`);
      for (const { offset, bytes } of this.#onItsWay)
        if (offset + bytes.length > heldBytes) await this.#port.piece(this.#start, offset, bytes);
    });
    this.#onItsWay.length = 0;
  }

  async #patiently<T extends UploadState | FileRecord | void>(call: () => Promise<T>): Promise<T> {
    for (let waitMs = firstPauseMs; ; waitMs = Math.min(waitMs * 2, longestPauseMs)) {
      this.#throwIfAborted();
      try {
        return await this.#unlessAborted(call());
      } catch (error) {
        if (this.#signal.aborted || !isOfTheWay(error)) throw error;
        await pause(waitMs * (0.5 + Math.random() / 2), undefined, { signal: this.#signal }).catch(() =>
          this.#throwIfAborted(),
        );
      }
    }
  }

  #unlessAborted<T>(call: Promise<T>): Promise<T> {
    return unlessAborted(call, this.#signal);
  }

  #throwIfAborted(): void {
    if (this.#signal.aborted) throw this.#signal.reason;
  }
}

async function unlessAborted<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([call, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Of `pieceBytes` each but the last; a copy, since a source may use its buffers again. */
async function* piecesOf(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const source = content[Symbol.asyncIterator]();
  let piece = Buffer.allocUnsafe(pieceBytes);
  let filled = 0;
  let isDone = false;
  try {
    for (;;) {
      const { value, done } = await unlessAborted(source.next(), signal);
      isDone = done === true;
      if (isDone) break;
      if (!(value instanceof Uint8Array)) throw notBytes();
      for (let at = 0; at < value.length; ) {
        const part = value.subarray(at, at + pieceBytes - filled);
        piece.set(part, filled);
        at += part.length;
        filled += part.length;
        if (filled < pieceBytes) continue;
        yield piece;
        piece = Buffer.allocUnsafe(pieceBytes);
        filled = 0;
      }
    }
    if (filled > 0) yield piece.subarray(0, filled);
  } finally {
    // Its own end may wait for a read that never comes, so it is not waited for.
    if (!isDone) void Promise.resolve(source.return?.()).catch(() => undefined);
  }
}

function notBytes(): MillraceError {
  return new MillraceError(
    'option-invalid',
    'content of a file: expected a stream of bytes (Uint8Array), got a stream of something else. Encode texts, as by stream.setEncoding() left out',
  );
}
