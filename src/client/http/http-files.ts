import { MillraceError } from '../../internal/errors.js';
import type { FileShape } from '../../protocol/http/file-shapes.js';
import type { OpenedFile, StoredFile } from '../job-files.js';
import type { HttpCalls } from './http-calls.js';

export const fileOf = (told: FileShape): StoredFile => ({ ...told, createdAt: new Date(told.createdAt) });

/** Longest time between two pieces. */
const idleMs = 60_000;

/** Its facts stand in the headers; the bytes come as they are used, and what is left unused is ended after a minute. */
export async function openHttpFile(calls: HttpCalls, id: string): Promise<OpenedFile> {
  const over = new AbortController();
  const idle = setTimeout(() => over.abort(tooSlow(id)), idleMs);
  try {
    const answer = await calls.stream(`/files/${id}`, { accept: '*/*' }, over.signal);
    return { file: fileOfHeaders(id, answer.headers), content: contentOf(answer, idle) };
  } catch (error) {
    clearTimeout(idle);
    throw over.signal.aborted ? over.signal.reason : error;
  }
}

async function* contentOf({ body }: Response, idle: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of body ?? []) {
      idle.refresh();
      yield bytes;
    }
  } finally {
    clearTimeout(idle);
  }
}

function fileOfHeaders(id: string, headers: Headers): StoredFile {
  const text = (name: string): string => headers.get(name) ?? '';
  const name = /filename\*=UTF-8''(\S+)/.exec(text('content-disposition'))?.[1] ?? '';
  return {
    id,
    name: decodeURIComponent(name),
    type: text('content-type'),
    sizeBytes: Number(text('content-length')),
    sha256: text('etag').replaceAll('"', ''),
    createdAt: new Date(text('last-modified')),
  };
}

function tooSlow(id: string): MillraceError {
  return new MillraceError('deadline-exceeded', `file ${id}: nothing was read for ${idleMs / 1_000} s`);
}
