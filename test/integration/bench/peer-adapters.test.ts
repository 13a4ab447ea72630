import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
// @ts-expect-error the benchmark is plain JavaScript
import { QUEUES } from '../../../bench/peers/catalog.mjs';

interface Package {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}
interface Queue {
  readonly name: string;
  readonly module: string;
  readonly package?: string;
}

const peers = fileURLToPath(new URL('../../../bench/peers/', import.meta.url));
const queues = QUEUES as readonly Queue[];
const json = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;
const own = json<Package>(`${peers}package.json`);
const repository = json<Package>(`${peers}../../package.json`);
const files = [peers, `${peers}adapters/`].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => folder + name),
);

/** `@scope/name` or `name` of what a file imports and Node itself doesn't have. */
function importedPackages(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(/(?:from |import\()'([^'.][^']*)'/g);
  return [...found]
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('node:'))
    .map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
}

describe('the adapters of other queues', () => {
  it.each(files.map((file) => [file.slice(peers.length), file]))('%s compiles', (_name, file) => {
    execFileSync(process.execPath, ['--check', file], { stdio: 'pipe' });
  });

  it('import nothing that is not installed with them or with the repository', () => {
    const known = new Set(
      [own.dependencies, repository.devDependencies, repository.optionalDependencies].flatMap((part) =>
        Object.keys(part ?? {}),
      ),
    );
    const unknown = files.flatMap((file) =>
      importedPackages(file)
        .filter((name) => !known.has(name))
        .map((name) => `${file.slice(peers.length)}: ${name}`),
    );
    expect(unknown).toEqual([]);
  });

  it.each(queues.map((queue) => [queue.name, queue] as const))('%s has one, and its version', (_, queue) => {
    expect(readFileSync(`${peers}adapters/${queue.module}.mjs`, 'utf8')).toContain(
      'export async function openQueue(',
    );
    if (queue.package !== undefined) expect(own.dependencies).toHaveProperty([queue.package]);
  });

  it('are installed by exact versions, the ones of the lock file', () => {
    const lock = json<{ packages: Record<string, Package> }>(`${peers}package-lock.json`);
    expect(lock.packages['']?.dependencies).toEqual(own.dependencies);
    for (const version of Object.values(own.dependencies ?? {})) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
