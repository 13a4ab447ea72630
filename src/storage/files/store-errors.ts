import { MillraceError } from '../../internal/errors.js';

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** What the file system said, as what it means to who keeps files. */
export function storeError(error: unknown, folder: string): MillraceError {
  if (error instanceof MillraceError) return error;
  const code = (error as NodeJS.ErrnoException)?.code ?? 'unknown';
  const details = { folder, code };
  if (fullCodes.has(code)) {
    return new MillraceError(
      'file-store-full',
      `no room is left for files in ${folder} (${code}). Make room there, or set MILLRACE_FILES to a folder on another disk and move its contents`,
      { details, cause: error },
    );
  }
  return new MillraceError(
    'file-store-unusable',
    `the folder for files ${folder} can’t be used (${code}): make it readable and writable for this user, or set MILLRACE_FILES to another one`,
    { details, cause: error },
  );
}

export function uploadLost(id: string, text: string): MillraceError {
  return new MillraceError('file-upload-lost', `upload ${id}: ${text}. Put the file again`, {
    details: { upload: id },
  });
}

export function contentMissing(sha256: string): MillraceError {
  return new MillraceError(
    'file-not-found',
    `the bytes of a file (SHA-256 ${sha256}) are not in the store of this process`,
    { details: { sha256 } },
  );
}
