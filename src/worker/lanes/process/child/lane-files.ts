import type { FilePort, UploadStart, UploadState } from '../../../../storage/files/file-port.js';
import { pieceText } from '../../../../storage/files/piece-text.js';
import type { FileRecord } from '../../../../storage/job-file.js';
import type { ParentLine } from './parent-line.js';

/** Files by way of the worker, which puts the lease to what is asked for. */
export class LaneFiles implements FilePort {
  readonly window = 2;
  readonly #line: ParentLine;
  readonly #run: number;

  constructor(line: ParentLine, run: number) {
    this.#line = line;
    this.#run = run;
  }

  begin(start: UploadStart): Promise<UploadState> {
    return this.#line.call(this.#run, { method: 'file-begin', start: named(start) });
  }

  piece(start: UploadStart, offset: number, bytes: Uint8Array): Promise<number> {
    const data = pieceText(bytes);
    return this.#line.call(this.#run, { method: 'file-piece', start: named(start), offset, data });
  }

  end(start: UploadStart, sizeBytes: number): Promise<FileRecord> {
    return this.#line.call(this.#run, { method: 'file-end', start: named(start), sizeBytes });
  }

  async drop(start: UploadStart): Promise<void> {
    await this.#line.call(this.#run, { method: 'file-drop', start: named(start) });
  }

  list(): Promise<FileRecord[]> {
    return this.#line.call(this.#run, { method: 'file-list' });
  }

  find(id: string): Promise<FileRecord | null> {
    return this.#line.call(this.#run, { method: 'file-find', id });
  }

  async read({ id }: FileRecord, offset: number): Promise<Uint8Array> {
    return Buffer.from(await this.#line.call(this.#run, { method: 'file-read', id, offset }), 'base64');
  }
}

const named = ({ id, name, type }: UploadStart) => ({ id, name, type });
