import type { FileAddition } from '../../src/storage/job-file.js';
import type { Storage } from '../../src/storage/storage.js';
import type { Random } from './random.js';
import type { World } from './world.js';

/** Calls about files of jobs. Their bytes are elsewhere. */
export type FileOperation =
  | { readonly method: 'addFile'; readonly addition: FileAddition }
  | { readonly method: 'files' | 'file'; readonly id: string }
  | { readonly method: 'sweepFiles'; readonly limit: number }
  | { readonly method: 'keptContents'; readonly hashes: readonly string[] }
  | { readonly method: 'fileStoreId'; readonly proposed: string };

export const fileWeights: Readonly<Record<FileOperation['method'], number>> = {
  addFile: 2.5,
  files: 1,
  file: 0.7,
  sweepFiles: 0.4,
  keptContents: 0.5,
  fileStoreId: 0.3,
};

export const isFileMethod = (method: string): method is FileOperation['method'] =>
  Object.hasOwn(fileWeights, method);

/** @param id of some job */
export function nextFileOperation(
  random: Random,
  world: World,
  { method, id }: { readonly method: FileOperation['method']; readonly id: string },
): FileOperation {
  switch (method) {
    case 'addFile':
      return { method, addition: anAddition(random, world, id) };
    case 'files':
      return { method, id };
    case 'file':
      return {
        method,
        id: random.pick([...world.additions.map(({ file }) => file.id), fileId(world, 0xfff)]),
      };
    case 'sweepFiles':
      return { method, limit: random.pick([1, 100]) };
    case 'keptContents':
      return { method, hashes: random.some(hashesOf(world)) };
    case 'fileStoreId':
      return { method, proposed: `${world.run}-store` };
  }
}

/** Now and then one that was made before, as after a lost answer. */
function anAddition(random: Random, world: World, id: string): FileAddition {
  if (world.additions.length > 0 && random.chance(0.15)) return random.pick(world.additions);
  const nobody = { id, token: `${world.run}${'0'.repeat(24)}` };
  const addition: FileAddition = {
    lease: world.leases.length > 0 && random.chance(0.9) ? random.pick(world.leases.slice(-4)) : nobody,
    file: {
      id: fileId(world, world.additions.length),
      name: random.pick(['a.txt', 'A.txt', 'ä 😀.txt', 'b']),
      type: random.pick(['text/plain', 'image/png']),
      sizeBytes: random.pick([0, 10, 100]),
      sha256: random.pick(hashesOf(world)),
    },
    mostBytes: random.pick([100, 150, 1_000_000]),
    mostFiles: random.pick([1, 2, 100]),
  };
  world.additions.push(addition);
  return addition;
}

const fileId = (world: World, number: number): string =>
  `${world.run}-0000-7000-9000-${number.toString(16).padStart(12, '0')}`;

const hashesOf = ({ run }: World): string[] =>
  ['a', 'b', 'c'].map((digit) => `${run}${'0'.repeat(55)}${digit}`);

export async function makeFileCall(storage: Storage, operation: FileOperation): Promise<unknown> {
  switch (operation.method) {
    case 'addFile':
      return storage.addFile(operation.addition);
    case 'files':
    case 'file':
      return storage[operation.method](operation.id);
    case 'sweepFiles':
      return sweepAll(storage, operation.limit);
    case 'keptContents':
      return storage.keptContents(operation.hashes);
    case 'fileStoreId':
      // The first one stands for as long as the database does, and other runs have been here.
      return (await storage.fileStoreId(operation.proposed)) !== null;
  }
}

/** How many were removed is not told: other runs may have left some. What is left can be seen. */
async function sweepAll(storage: Storage, limit: number): Promise<void> {
  let after: string | null = null;
  do {
    const { next }: Awaited<ReturnType<Storage['sweepFiles']>> = await storage.sweepFiles({ after, limit });
    after = next;
  } while (after !== null);
}
