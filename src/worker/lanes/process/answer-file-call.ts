import { MillraceError } from '../../../internal/errors.js';
import { cleanFileName } from '../../../storage/files/file-name.js';
import type { FilePort, UploadStart } from '../../../storage/files/file-port.js';
import { parseFileType } from '../../../storage/files/file-type.js';
import { pieceOf, pieceText } from '../../../storage/files/piece-text.js';
import type { Attempt } from '../../attempt.js';
import type { FileCall, LaneCall } from './messages.js';

export const isFileCall = (call: LaneCall): call is FileCall => call.method.startsWith('file-');

/** What a handler in a child asks of the files of its job. The child names no lease: it is that of the attempt. */
export async function answerFileCall(
  call: FileCall,
  attempt: Attempt | null,
  files: FilePort,
): Promise<unknown> {
  if (attempt === null) {
    throw new MillraceError('lease-lost', 'the handler that asks for files has ended');
  }
  switch (call.method) {
    case 'file-begin':
      return await files.begin(startOf(call, attempt));
    case 'file-piece':
      return await files.piece(startOf(call, attempt), call.offset, bytesOf(call.data));
    case 'file-end':
      return await files.end(startOf(call, attempt), call.sizeBytes);
    case 'file-drop':
      return await files.drop(startOf(call, attempt));
    case 'file-list':
      return await files.list(attempt.job.id);
    case 'file-find':
      return await files.find(call.id);
    case 'file-read':
      return await read(files, call);
  }
}

async function read(files: FilePort, { id, offset }: { id: string; offset: number }): Promise<string> {
  const file = await files.find(id);
  if (file === null) throw new MillraceError('file-not-found', `there is no file ${id}`);
  return pieceText(await files.read(file, offset));
}

function startOf({ start }: Extract<FileCall, { start: unknown }>, { job }: Attempt): UploadStart {
  const { id, name, type } = start;
  return {
    id,
    lease: { id: job.id, token: job.token },
    name: cleanFileName(name),
    type: parseFileType(type),
  };
}

function bytesOf(data: string): Uint8Array {
  const bytes = pieceOf(data);
  if (bytes !== null) return bytes;
  throw new MillraceError('internal', 'a piece of a file from a process lane was no base64');
}
