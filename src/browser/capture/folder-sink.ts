import { createHash } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CapturedFile } from '../../client/capture/capture-result.js';
import type { CaptureSink } from '../../client/capture/capture-sink.js';
import { MillraceError } from '../../internal/errors.js';

/** Files of a folder, which is made where it is missing. One of the same name is replaced, once the new one is whole. */
export async function folderSink(folder: string): Promise<CaptureSink> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw new MillraceError(
      'folder-unusable',
      `${folder}, where the capture is to go, can’t be made: ${(cause as Error).message}`,
      { cause, details: { folder } },
    );
  }
  return {
    async put(name, content, type): Promise<CapturedFile> {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content;
      const draft = join(folder, `.${name}.part`);
      try {
        await writeFile(draft, bytes);
        await rename(draft, join(folder, name));
      } finally {
        await rm(draft, { force: true });
      }
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { name, type, sizeBytes: bytes.byteLength, sha256 };
    },
  };
}
