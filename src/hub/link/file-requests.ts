/** Files that workers put and get by their link: each is the call of the same name on the store of this hub. */
import { MillraceError } from '../../internal/errors.js';
import type { HubMessage } from '../../protocol/hub-messages.js';
import { linkFailures } from '../../protocol/link-terms.js';
import type { WorkerMessage } from '../../protocol/worker-messages.js';
import { incarnationOf } from '../../storage/claimed-job.js';
import type { FileKeeper } from '../../storage/files/file-keeper.js';
import { cleanFileName } from '../../storage/files/file-name.js';
import type { UploadStart } from '../../storage/files/file-port.js';
import { parseFileType } from '../../storage/files/file-type.js';
import { pieceOf, pieceText } from '../../storage/files/piece-text.js';
import type { LinkedWorker } from './linked-worker.js';

const types = ['file-begin', 'file-piece', 'file-end', 'file-drop', 'ask-files', 'file-read'] as const;

export type FileQuestion = Extract<WorkerMessage, { type: (typeof types)[number] }>;
type Upload = Extract<FileQuestion, { file: object | null; type: `file-${string}` }>['file'];

export const isFileQuestion = (message: WorkerMessage): message is FileQuestion =>
  types.some((type) => type === message.type);

export async function answerFile(
  files: FileKeeper,
  worker: LinkedWorker,
  message: FileQuestion,
): Promise<HubMessage> {
  const { id: re } = message;
  switch (message.type) {
    case 'file-begin': {
      const { heldBytes, file } = await files.begin(startOf(worker, message.file));
      return { type: 'file-ack', re, held: heldBytes, file };
    }
    case 'file-piece': {
      const bytes = pieceOf(message.data);
      if (bytes === null) return badPiece(re);
      const held = await files.piece(startOf(worker, message.file), message.offset, bytes);
      return { type: 'file-ack', re, held, file: null };
    }
    case 'file-end': {
      const file = await files.end(startOf(worker, message.file), message.sizeBytes);
      return { type: 'file-ack', re, held: file.sizeBytes, file };
    }
    case 'file-drop':
      await files.drop(startOf(worker, message.file));
      return { type: 'file-ack', re, held: 0, file: null };
    case 'ask-files':
      return { type: 'files', re, files: await asked(files, message) };
    case 'file-read': {
      const file = await files.find(message.file);
      if (file === null) throw new MillraceError('file-not-found', `there is no file ${message.file}`);
      return { type: 'file-bytes', re, data: pieceText(await files.read(file, message.offset)) };
    }
  }
}

async function asked(files: FileKeeper, { job, file }: Extract<FileQuestion, { type: 'ask-files' }>) {
  if (job !== null) return await files.list(job);
  const found = file === null ? null : await files.find(file);
  return found === null ? [] : [found];
}

/** Only under a lease of its own; whether it still holds it is seen where the row is written. */
function startOf({ incarnation }: LinkedWorker, file: Exclude<Upload, string>): UploadStart {
  if (incarnationOf(file.lease.token) !== incarnation) {
    throw new MillraceError('lease-lost', `the lease of job ${file.lease.id} is not one of this worker`);
  }
  return { ...file, name: cleanFileName(file.name), type: parseFileType(file.type) };
}

const badPiece = (re: number): HubMessage => ({
  type: 'failed',
  re,
  code: linkFailures.invalid,
  message: 'the data of a piece: expected base64 with its padding, of at most 256 KB',
  retryable: false,
});
