import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { DocumentInput } from './library.js';
import { deskFolder, packagesFolder } from './places.js';

/** Every `*.md` below the packages and on the desk, whatever it turns out to be. */
export async function findDocuments(): Promise<DocumentInput[]> {
  await setTheDesk();
  const found = [
    ...(await markdownBelow(packagesFolder)).map((path) => documentOf(path, packageOf(path), packagesFolder)),
    ...(await markdownBelow(deskFolder)).map((path) => documentOf(path, 'desk', deskFolder)),
  ];
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A note, and two things with the name of a document that are none. */
async function setTheDesk(): Promise<void> {
  mkdirSync(join(deskFolder, 'x.md'), { recursive: true });
  await writeFile(
    join(deskFolder, 'note.md'),
    '# A note\n\nTwo of the three things on this desk are not documents.\n',
  );
  try {
    symlinkSync('nowhere.md', join(deskFolder, 'lost.md'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

async function markdownBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (/\.md$/i.test(entry.name)) found.push(path);
    else if (entry.isDirectory()) found.push(...(await markdownBelow(path)));
  }
  return found;
}

/** `a/node_modules/@b/c/docs/d.md` belongs to `@b/c`. */
function packageOf(path: string): string {
  const parts = relative(packagesFolder, path).split(sep);
  const inner = parts.slice(parts.lastIndexOf('node_modules') + 1);
  return (inner[0]?.startsWith('@') ? inner.slice(0, 2) : inner.slice(0, 1)).join('/');
}

function documentOf(path: string, packageName: string, root: string): DocumentInput {
  const parts = relative(root, path).split(sep).join('/');
  const name =
    packageName === 'desk'
      ? parts
      : parts.slice(parts.lastIndexOf(`${packageName}/`) + packageName.length + 1);
  return { package: packageName, path, name, hash: hashOf(path) };
}

/** Of the content; of what can't be read, of what it is. */
function hashOf(path: string): string {
  const hash = createHash('sha256');
  try {
    hash.update(readFileSync(path));
  } catch (error) {
    hash.update(`unreadable ${(error as NodeJS.ErrnoException).code} ${linkTarget(path)}`);
  }
  return hash.digest('hex');
}

function linkTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // No link: then it is what its error code says.
    return '';
  }
}
