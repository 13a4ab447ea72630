import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Readers see the old content or the new, never a part; a job that runs twice does no harm. */
export async function writeFileWhole(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}-${Math.random().toString(36).slice(2)}.draft`;
  await writeFile(draft, text);
  await rename(draft, file);
}
