/**
 * Files by way of a hub. Each message says all that is to be known of its file, so a connection that was lost, or another
 * hub with the same store, needs nothing but the next one. Pieces of all files together share a few places, so that a slow
 * line never has more before the next heartbeat than it can carry in time.
 */
import { MillraceError } from '../../../internal/errors.js';
import type { FilePort, UploadStart, UploadState } from '../../../storage/files/file-port.js';
import { pieceOf, pieceText } from '../../../storage/files/piece-text.js';
import type { FileRecord } from '../../../storage/job-file.js';
import type { HubClient } from './hub-client.js';

/** 1.4 MB of base64: 12 s on a line of 1 Mbit/s, well within a lease. */
const places = 4;

export class HubFiles implements FilePort {
  readonly window = places;
  readonly #client: HubClient;
  readonly #waiting: (() => void)[] = [];
  #free = places;

  constructor(client: HubClient) {
    this.#client = client;
  }

  async begin(file: UploadStart): Promise<UploadState> {
    return stateOf(await this.#client.request({ type: 'file-begin', file }, 'file-ack'));
  }

  async piece(file: UploadStart, offset: number, bytes: Uint8Array): Promise<number> {
    await this.#enter();
    try {
      const body = { type: 'file-piece', file, offset, data: pieceText(bytes) } as const;
      return (await this.#client.request(body, 'file-ack')).held;
    } finally {
      this.#leave();
    }
  }

  async end(file: UploadStart, sizeBytes: number): Promise<FileRecord> {
    const { file: added } = await this.#client.request({ type: 'file-end', file, sizeBytes }, 'file-ack');
    if (added === null)
      throw new MillraceError('hub-refused', 'the hub ended a file without saying what it is');
    return added;
  }

  async drop(file: UploadStart): Promise<void> {
    await this.#client.request({ type: 'file-drop', file }, 'file-ack');
  }

  async list(job: string): Promise<FileRecord[]> {
    return (await this.#client.request({ type: 'ask-files', job, file: null }, 'files')).files;
  }

  async find(file: string): Promise<FileRecord | null> {
    return (await this.#client.request({ type: 'ask-files', job: null, file }, 'files')).files[0] ?? null;
  }

  async read({ id: file }: FileRecord, offset: number): Promise<Uint8Array> {
    await this.#enter();
    try {
      const { data } = await this.#client.request({ type: 'file-read', file, offset }, 'file-bytes');
      const bytes = pieceOf(data);
      if (bytes === null) throw new MillraceError('hub-refused', 'the hub sent bytes that are no base64');
      return bytes;
    } finally {
      this.#leave();
    }
  }

  #enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

const stateOf = ({ held, file }: { held: number; file: FileRecord | null }): UploadState => ({
  heldBytes: held,
  file,
});
