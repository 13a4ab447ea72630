import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

const blockBytes = 512;
const nameBytes = 100;
const sizeAt = 124;
const typeAt = 156;

/** Writes the plain files of a tar archive into one folder, each under the last part of its name: nothing leaves it. */
export async function untarFlat(archive: Buffer, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (let at = 0; at + blockBytes <= archive.length; ) {
    const name = text(archive.subarray(at, at + nameBytes));
    if (name === '') return;
    const size = Number.parseInt(text(archive.subarray(at + sizeAt, at + sizeAt + 12)).trim(), 8);
    const type = String.fromCharCode(archive[at + typeAt] ?? 0);
    const content = archive.subarray(at + blockBytes, at + blockBytes + size);
    if (!Number.isInteger(size) || content.length !== size) throw new Error('the archive is cut off');
    const file = basename(name);
    if ((type === '0' || type === '\0') && file !== '' && file !== '..')
      await writeFile(join(folder, file), content, { mode: 0o755 });
    at += blockBytes + Math.ceil(size / blockBytes) * blockBytes;
  }
}

const text = (bytes: Buffer): string => bytes.toString('latin1').split('\0', 1)[0] as string;
