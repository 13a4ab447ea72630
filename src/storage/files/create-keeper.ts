import { resolve } from 'node:path';
import type { SettingValues } from '../../internal/settings.js';
import type { Storage } from '../storage.js';
import { FileKeeper } from './file-keeper.js';
import { MemoryStore } from './memory-store.js';
import { openFolder } from './open-folder.js';

/** Plain data, so that a thread can be told. */
export interface FileSettings {
  /** An absolute path. */
  readonly folder: string;
  readonly mostBytes: number;
  readonly mostBytesOfJob: number;
}

export function fileSettings(
  values: Pick<SettingValues, 'files' | 'stateDir' | 'maxFileBytes' | 'maxJobFilesBytes'>,
): FileSettings {
  return {
    folder: filesFolder(values),
    mostBytes: values.maxFileBytes,
    mostBytesOfJob: values.maxJobFilesBytes,
  };
}

export function filesFolder({ files, stateDir }: Pick<SettingValues, 'files' | 'stateDir'>): string {
  return files === 'auto' ? resolve(stateDir, 'files') : resolve(files);
}

/** Files of a database that only this process has stay in memory as well. */
export function createFileKeeper(settings: FileSettings, storage: () => Promise<Storage>): FileKeeper {
  const { folder, mostBytes, mostBytesOfJob } = settings;
  let memory: MemoryStore | null = null;
  return new FileKeeper({
    storage,
    store: (open, mayMake) => {
      if (open.capabilities.shared) return openFolder(folder, open, mayMake);
      memory ??= new MemoryStore();
      return Promise.resolve(memory);
    },
    mostBytes,
    mostBytesOfJob,
  });
}
