import {
  type FileContent,
  type JobFiles,
  type OpenedFile,
  type PutFileOptions,
  type StoredFile,
  storedFile,
} from '../client/job-files.js';
import { describeValue } from '../internal/describe-value.js';
import { MillraceError } from '../internal/errors.js';
import { isUuid, uuidv7 } from '../internal/uuid.js';
import { cleanFileName } from '../storage/files/file-name.js';
import type { FilePort } from '../storage/files/file-port.js';
import { parseFileType, typeOfName, unknownType } from '../storage/files/file-type.js';
import { putFile } from '../storage/files/put-file.js';
import type { FileRecord } from '../storage/job-file.js';
import type { Attempt } from './attempt.js';

/** The files of the job of one attempt, through whatever port its worker has. */
export class AttemptFiles implements JobFiles {
  readonly #attempt: Attempt;
  readonly #port: FilePort;

  constructor(attempt: Attempt, port: FilePort) {
    this.#attempt = attempt;
    this.#port = port;
  }

  async put(name: string, content: FileContent, options: PutFileOptions = {}): Promise<StoredFile> {
    const { job, signal } = this.#attempt;
    const cleanName = cleanFileName(name);
    const byName = typeOfName(cleanName);
    const textType =
      typeof content === 'string' && byName === unknownType ? 'text/plain; charset=utf-8' : byName;
    const type = options.type === undefined ? textType : parseFileType(options.type);
    const start = { id: uuidv7(), lease: { id: job.id, token: job.token }, name: cleanName, type };
    const signals = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]);
    return storedFile(await putFile(this.#port, start, { content: streamOf(content), signal: signals }));
  }

  async get(nameOrId: string): Promise<OpenedFile> {
    const record = await this.#find(nameOrId);
    return { file: storedFile(record), content: this.#read(record) };
  }

  async list(): Promise<StoredFile[]> {
    return (await this.#port.list(this.#attempt.job.id)).map(storedFile);
  }

  async #find(nameOrId: string): Promise<FileRecord> {
    const name = cleanFileName(nameOrId);
    const own = (await this.#port.list(this.#attempt.job.id)).find((file) => file.name === name);
    const found = own ?? (isUuid(nameOrId) ? await this.#port.find(nameOrId.toLowerCase()) : null);
    if (found !== null) return found;
    throw new MillraceError(
      'file-not-found',
      `job ${this.#attempt.job.id} has no file ${JSON.stringify(name)}: expected the name of one of its files, or the id of any file`,
      { details: { jobId: this.#attempt.job.id, name } },
    );
  }

  async *#read(file: FileRecord): AsyncGenerator<Uint8Array> {
    for (let offset = 0; offset < file.sizeBytes; ) {
      const bytes = await this.#port.read(file, offset);
      if (bytes.length === 0) break;
      offset += bytes.length;
      yield bytes;
    }
  }
}

async function* streamOf(content: FileContent): AsyncGenerator<Uint8Array> {
  if (typeof content === 'string') yield Buffer.from(content);
  else if (content instanceof Uint8Array) yield content;
  else if (isStream(content)) yield* content;
  else
    throw new MillraceError(
      'option-invalid',
      `content of a file: expected bytes, a text or a stream of bytes, got ${describeValue(content)}`,
    );
}

const isStream = (value: unknown): value is AsyncIterable<Uint8Array> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
