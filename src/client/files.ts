import { describeValue } from '../internal/describe-value.js';
import { hasErrorCode, MillraceError } from '../internal/errors.js';
import { isUuid } from '../internal/uuid.js';
import type { FileKeeper } from '../storage/files/file-keeper.js';
import { parseJobId } from './control.js';
import { type OpenedFile, type StoredFile, storedFile } from './job-files.js';

/** The files of a job, seen from outside of it. */
export async function filesOf(keeper: FileKeeper, jobId: string): Promise<StoredFile[]> {
  const id = parseJobId(jobId);
  try {
    return (await keeper.list(id)).map(storedFile);
  } catch (error) {
    // Before the migration that brings the tables no job has any.
    if (hasErrorCode(error, 'schema-missing')) return [];
    throw error;
  }
}

export async function openFile(keeper: FileKeeper, id: string): Promise<OpenedFile | null> {
  const record = await keeper.find(parseFileId(id));
  if (record === null) return null;
  return { file: storedFile(record), content: await keeper.open(record) };
}

/** @throws MillraceError `option-invalid` */
export function parseFileId(id: unknown): string {
  if (typeof id === 'string' && isUuid(id)) return id.toLowerCase();
  throw new MillraceError(
    'option-invalid',
    `file id: expected a full id such as 0199c0de-7a11-7abc-9def-0123456789ab, got ${describeValue(id)}`,
  );
}
