/**
 * The Chrome of the npm package `@sparticuz/chromium`, for machines that have nothing but npm: its program and the libraries
 * it ships, never its flags, which turn off what keeps pages apart.
 *
 * It is packed. Unpacked (200 MB, two seconds) it is kept in the cache folder of the user, under its version: by one process
 * at a time, under another name, and renamed when it is whole. Others wait for that, or do it themselves when the one before
 * has died over it.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { access, chmod, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { brotliDecompress, createBrotliDecompress } from 'node:zlib';
import type { FoundChrome } from './find-chrome.js';
import { untarFlat } from './untar.js';

const packageName = '@sparticuz/chromium';
/** Unpacking takes seconds; whoever has not ended it in this time has died over it. */
const staleLockMs = 60_000;
const lookEveryMs = 100;

/** Null where the package is not installed, or is not for this machine. */
export async function packagedChrome(signal: AbortSignal): Promise<FoundChrome | null> {
  const root = process.platform === 'linux' && process.arch === 'x64' ? packageRoot() : null;
  if (root === null) return null;
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const folder = join(await cacheFolder(), `chromium-${version}`);
  const executable = join(folder, 'chrome-headless-shell');
  await once(folder, signal, (partial) => unpack(join(root, 'bin'), partial));
  return { executable, source: `${packageName} ${version}`, libraries: null };
}

/** The same with the libraries that it ships, for a machine that lacks them. */
export const withLibraries = (chrome: FoundChrome): FoundChrome => ({
  ...chrome,
  libraries: join(dirname(chrome.executable), 'lib'),
});

/** As seen from the application, else from this package. */
function packageRoot(): string | null {
  const origins = [pathToFileURL(join(process.cwd(), 'package.json')).href, import.meta.url];
  for (const origin of origins) {
    try {
      // Its `exports` name only its main file, which is build/cjs/index.cjs.
      return join(dirname(createRequire(origin).resolve(packageName)), '..', '..');
    } catch {
      // Not installed there, or no address in a bundle.
    }
  }
  return null;
}

async function cacheFolder(): Promise<string> {
  const own = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'millrace');
  const shared = join(tmpdir(), `millrace-cache-${process.getuid?.() ?? 0}`);
  for (const folder of [own, shared]) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await access(folder, 2);
      const { uid } = await stat(folder);
      if (uid === (process.getuid?.() ?? uid)) return folder;
    } catch {
      // A home that is read-only, or missing: the next one.
    }
  }
  throw new Error(
    `found no folder to unpack ${packageName} into: neither ${own} nor ${shared} can be written`,
  );
}

/** Makes the folder by `fill`, whole or not at all; once, whoever else wants it at the same time. */
async function once(
  folder: string,
  signal: AbortSignal,
  fill: (partial: string) => Promise<void>,
): Promise<void> {
  const lock = `${folder}.lock`;
  while (!(await exists(folder))) {
    signal.throwIfAborted();
    if (!(await take(lock))) {
      await pause(lookEveryMs, undefined, { signal });
      continue;
    }
    const partial = `${folder}.${process.pid}`;
    try {
      if (await exists(folder)) return;
      await dropPartials(folder);
      await fill(partial);
      await rename(partial, folder).catch(async (error: unknown) => {
        if (!(await exists(folder))) throw error;
      });
    } finally {
      await rm(partial, { recursive: true, force: true });
      await rm(lock, { force: true });
    }
  }
}

/** What those left that have died over it; with the lock in hand. */
async function dropPartials(folder: string): Promise<void> {
  const left = (await readdir(dirname(folder))).filter((name) => /^\d+$/.test(extension(name, folder)));
  for (const name of left) await rm(join(dirname(folder), name), { recursive: true, force: true });
}

const extension = (name: string, folder: string): string =>
  name.startsWith(`${basename(folder)}.`) ? name.slice(basename(folder).length + 1) : '';

async function take(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx')).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const age = await stat(lock).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );
  if (age > staleLockMs) await rm(lock, { force: true });
  return false;
}

async function unpack(bin: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const executable = join(folder, 'chrome-headless-shell');
  await pipeline(
    createReadStream(join(bin, 'chromium.br')),
    createBrotliDecompress(),
    createWriteStream(executable),
  );
  await chmod(executable, 0o700);
  const packed = await readFile(join(bin, 'al2023.tar.br'));
  const archive = await new Promise<Buffer>((resolve, reject) => {
    brotliDecompress(packed, (error, result) => (error === null ? resolve(result) : reject(error)));
  });
  await untarFlat(archive, join(folder, 'lib'));
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
