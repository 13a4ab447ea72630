import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/** Everything the example writes. */
export const outputFolder: string = resolve(process.env['LIBRARY_OUTPUT'] ?? join(here, 'output'));
/** The installed packages whose documents are read. */
export const packagesFolder: string = resolve(process.env['LIBRARY_PACKAGES'] ?? nearestPackages(here));
/** A folder of documents that the example makes itself, two of which cannot be read. */
export const deskFolder: string = join(outputFolder, 'desk');
export const pagesFolder: string = join(outputFolder, 'pages');
export const indexFile: string = join(outputFolder, 'index.html');
/** Pictures of documents. */
export const galleryFolder: string = join(outputFolder, 'gallery');
export const galleryFile: string = join(outputFolder, 'gallery.html');
/** Of how many documents a picture is taken. */
export const gallerySize: number = Number(process.env['LIBRARY_GALLERY'] ?? 12);
/** Where the worker keeps its id. */
export const stateFolder: string = join(outputFolder, 'state');
/** Where files of jobs are kept. */
export const filesFolder: string = join(stateFolder, 'files');
export const database = `sqlite:${join(outputFolder, 'library.db')}`;

function nearestPackages(from: string): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules');
    if (existsSync(candidate)) return candidate;
  }
  throw new Error(`no node_modules from ${from} upward: run npm ci first`);
}
