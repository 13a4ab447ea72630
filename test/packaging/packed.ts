import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const deadlineMs = 120_000;

export const root: string = fileURLToPath(new URL('../..', import.meta.url));

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; a code other than 0 is an error with all that it said. */
export async function runProgram(
  file: string,
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  // What npm told this run must not lead one in another folder.
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  const env = { ...Object.fromEntries(kept), ...more };
  try {
    return await run(file, [...args], { cwd, env, timeout: deadlineMs, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${file} ${args.join(' ')} failed\n${stdout}\n${stderr}`, { cause: error });
  }
}

export const runNode = (
  args: readonly string[],
  cwd: string,
  env?: Readonly<Record<string, string>>,
): Promise<Ran> => runProgram(process.execPath, args, cwd, env);

/** `npm pack` of what is built; the path of the package. */
export async function pack(folder: string): Promise<string> {
  if (!existsSync(join(root, 'dist/index.js'))) {
    throw new Error('the package is packed as it is built: run "npm run build" first');
  }
  await mkdir(folder, { recursive: true });
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await runProgram('npm', args, root);
  const [packed] = JSON.parse(stdout) as [{ filename: string }];
  return join(folder, packed.filename);
}

/**
 * `npm install` of a package into an empty ESM project. SQLite's driver is left out, since it may have to be compiled,
 * and linked from this repository instead.
 */
export async function installInto(folder: string, file: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const manifest = { name: 'app', version: '1.0.0', private: true, type: 'module' };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=optional'];
  await runProgram('npm', ['install', file, ...quiet], folder);
}

/** Lets a folder find some packages of this repository, as if it had installed them. */
export async function link(folder: string, packages: readonly string[]): Promise<void> {
  for (const name of packages) {
    const target = join(folder, 'node_modules', name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(root, 'node_modules', name), target, 'dir');
  }
}

/** The file behind a command of one of this repository's packages. */
export function commandOf(name: string, command: string): string {
  const manifest = join(root, 'node_modules', name, 'package.json');
  const { bin } = require(manifest) as { bin: string | Record<string, string> };
  return join(dirname(manifest), typeof bin === 'string' ? bin : (bin[command] as string));
}

/** The bytes of all files below a folder, links not followed. */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map((entry) => stat(join(entry.parentPath, entry.name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}
