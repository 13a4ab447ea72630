/**
 * Which folder holds the files of a database: `<MILLRACE_FILES>/<id>`, the id being the database's own, given once by whoever
 * kept the first file. So databases may share a parent folder without one's sweep taking what is another's; and a machine
 * whose folder lacks that id has another disk than the one that keeps the files, and is told so.
 *
 * The folder is made before its id is proposed: a crash between the two leaves an empty folder, never a database whose
 * store is nowhere.
 */
import { mkdir, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../internal/errors.js';
import { uuidv7 } from '../../internal/uuid.js';
import type { Storage } from '../storage.js';
import { LocalFolder, privateMode, syncFolder } from './local-folder.js';
import { storeError } from './store-errors.js';

type Marks = Pick<Storage, 'fileStoreId'>;

/**
 * Null, only where none may be made: no file was ever kept, or not here.
 *
 * @throws MillraceError `file-store-elsewhere`, `file-store-unusable`, `file-store-full`
 */
export async function openFolder(
  root: string,
  storage: Marks,
  mayMake: boolean,
): Promise<LocalFolder | null> {
  const known = await storage.fileStoreId(null);
  if (known === null && !mayMake) return null;
  try {
    const id = known ?? (await found(root, storage));
    const folder = join(root, id);
    if (await isFolder(folder)) return new LocalFolder(folder);
    if (mayMake) throw elsewhere(root, folder);
    return null;
  } catch (error) {
    throw storeError(error, root);
  }
}

/** Of two that come at once, one gives the id. */
async function found(root: string, storage: Marks): Promise<string> {
  const proposed = uuidv7();
  const folder = join(root, proposed);
  await mkdir(folder, { recursive: true, mode: privateMode });
  await syncFolder(root);
  const id = await storage.fileStoreId(proposed);
  if (id !== proposed) await rmdir(folder);
  return id ?? proposed;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function elsewhere(root: string, folder: string): MillraceError {
  return new MillraceError(
    'file-store-elsewhere',
    `the files of this database are not kept in ${root}: expected the folder ${folder}, it is not there. ` +
      'Set MILLRACE_FILES to the folder that the other processes use, or let this worker get its jobs from a hub on the machine that has it (--hub). ' +
      'If that folder is lost for good, make it anew and empty',
    { details: { folder } },
  );
}
