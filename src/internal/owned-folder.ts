/**
 * A folder that belongs to one process, for what it and its children write and nobody needs after them.
 *
 *   root/lanes-4711-a1b2c3/owner.json       whose it is: pid, start time, boot, PID namespace; written anew once a minute
 *   root/lanes-4711-a1b2c3/<part>/          what one user in it writes (a child, a job), wiped when that has ended
 *   root/lanes-4711-a1b2c3/<part>.user      leader of the process group that works in that part
 *
 * It is removed by its owner. What a dead owner left is swept by the next process that comes (`sweepOwnedFolders`): only
 * where the owner is proven to be over, and the groups of its parts, which are killed first, too. Who is not proven to be
 * over (another container, another boot) keeps the folder for a day after it was last touched. What can't be read, or is
 * not named like one of ours, is left alone. Nothing here throws for a folder that can't be wiped: it is left to the next
 * sweep, and told at level debug.
 *
 * A folder is renamed before it is emptied, so that nobody meets it half empty, and of two sweeps one has it.
 */
import { randomBytes } from 'node:crypto';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MillraceError } from './errors.js';
import type { Logger } from './logger.js';
import { isProvenAlive, isProvenOver, type ProcessStamp, stampOf } from './process-stamp.js';

export interface OwnedFolderOptions {
  /** Holds the folders of many owners. @default one for each user of the machine, in its folder for temporary files */
  readonly root?: string;
  /** What it is for, in lower-case letters: the first part of its name. */
  readonly kind: string;
  readonly logger: Logger;
}

export interface SweepOptions {
  readonly root?: string;
  readonly logger: Logger;
}

const ownerFile = 'owner.json';
const userSuffix = '.user';
/** Emptied by whoever renamed it; found by a sweep, its emptier has died. */
const gonePrefix = 'gone-';
const touchedEveryMs = 60_000;
/** One whose owner can't be judged from here, and that was not touched for so long, is nobody's. */
const abandonedMs = 24 * 60 * 60_000;
/** From the kill of a group that was left behind until it must be gone; else its folder stays for the next sweep. */
const lingerMs = 2_000;
const lingerLookMs = 20;
const privateMode = 0o700;

/** Of this user alone, so that nobody else can put anything there. */
export const ownedFolderRoot = (): string => join(tmpdir(), `millrace-${process.getuid?.() ?? 'user'}`);

export class OwnedFolder implements AsyncDisposable {
  readonly path: string;
  readonly #root: string;
  readonly #logger: Logger;
  readonly #touching: NodeJS.Timeout;

  private constructor(path: string, root: string, logger: Logger) {
    this.path = path;
    this.#root = root;
    this.#logger = logger;
    this.#touching = setInterval(() => void this.#touch(), touchedEveryMs);
    this.#touching.unref();
  }

  /** @throws MillraceError `folder-unusable` */
  static async create({ root = ownedFolderRoot(), kind, logger }: OwnedFolderOptions): Promise<OwnedFolder> {
    try {
      await makeRoot(root);
      const path = await mkdtemp(join(root, `${kind}-${process.pid}-`));
      await writeOwner(path);
      return new OwnedFolder(path, root, logger);
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      const why = (error as Error).message;
      throw unusable(
        root,
        `it can't be written: ${why}`,
        'Make it writable, or set TMPDIR to a folder that is',
      );
    }
  }

  /** A folder in it, made when it is missing; the names of parts are file names. */
  async part(name: string): Promise<string> {
    const path = join(this.path, name);
    await mkdir(path, { recursive: true, mode: privateMode });
    return path;
  }

  /** The leader of the process group that works in a part: a sweep ends it before it takes the folder away. */
  async noteUser(name: string, pid: number): Promise<void> {
    const stamp = stampOf(pid);
    if (!isProvenOver(stamp)) await writeFile(join(this.path, `${name}${userSuffix}`), JSON.stringify(stamp));
  }

  /** Its user has provably ended. */
  async wipe(name: string): Promise<void> {
    await takeAway(join(this.path, name), this.#root, this.#logger);
    await rm(join(this.path, `${name}${userSuffix}`), { force: true }).catch(() => undefined);
  }

  /** All its users have provably ended. */
  async remove(): Promise<void> {
    this.abandon();
    await takeAway(this.path, this.#root, this.#logger);
  }

  /** Something in it may still be used: the sweep of a later process removes it. */
  abandon(): void {
    clearInterval(this.#touching);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }

  /** Whatever keeps temporary files clean on this machine may have taken it away, too. */
  async #touch(): Promise<void> {
    try {
      await mkdir(this.path, { recursive: true, mode: privateMode });
      await writeOwner(this.path);
    } catch (error) {
      this.#logger.debug(`the folder ${this.path} could not be touched`, { error });
    }
  }
}

/** Removes what owners that are over have left; answers with the names of their folders. Never rejects. */
export async function sweepOwnedFolders({
  root = ownedFolderRoot(),
  logger,
}: SweepOptions): Promise<string[]> {
  const swept: string[] = [];
  for (const name of await namesIn(root)) {
    const folder = join(root, name);
    try {
      if (name.startsWith(gonePrefix)) await rm(folder, { recursive: true, force: true });
      else if ((await isLeft(folder)) && (await takeAway(folder, root, logger))) swept.push(name);
    } catch (error) {
      logger.debug(`the folder ${folder} is left to a later sweep`, { error });
    }
  }
  if (swept.length > 0)
    logger.info(`folders: removed ${swept.length} that dead processes had left`, { root });
  return swept;
}

async function isLeft(folder: string): Promise<boolean> {
  const marker = join(folder, ownerFile);
  const owner = await readStamp(marker);
  if (owner === null) {
    // Its owner died before it had said who it was. One with anything in it stays.
    if (await isOld(folder)) await rmdir(folder);
    return false;
  }
  if (isProvenOver(owner)) return await endUsers(folder);
  return !isProvenAlive(owner) && (await isOld(marker));
}

const isOld = async (path: string): Promise<boolean> => Date.now() - (await stat(path)).mtimeMs > abandonedMs;

/** Whether none of the groups that worked in it is there any more. */
async function endUsers(folder: string): Promise<boolean> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(userSuffix));
  const stamps = await Promise.all(files.map((name) => readStamp(join(folder, name))));
  const users = stamps.filter((stamp) => stamp !== null);
  for (const user of users) if (isProvenAlive(user)) killGroup(user.pid);
  const until = performance.now() + lingerMs;
  while (!users.every((user) => isProvenOver(user))) {
    if (performance.now() > until) return false;
    await pause(lingerLookMs);
  }
  return true;
}

/** False: another sweep has it, or it could not be moved. */
async function takeAway(folder: string, root: string, logger: Logger): Promise<boolean> {
  const gone = join(root, `${gonePrefix}${randomBytes(6).toString('hex')}`);
  try {
    await rename(folder, gone);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      logger.debug(`the folder ${folder} can't be taken away`, { error });
    return false;
  }
  try {
    await rm(gone, { recursive: true, force: true, maxRetries: 2 });
  } catch (error) {
    logger.debug(`the folder ${gone} can't be emptied now`, { error });
  }
  return true;
}

/** @throws MillraceError `folder-unusable` where somebody else could put things there */
async function makeRoot(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: privateMode });
  if (!(await isOwn(root)))
    throw unusable(
      root,
      'it belongs to another user, or is no folder',
      'Remove it, or set TMPDIR to another folder',
    );
  await chmod(root, privateMode);
}

/** What others can write into would have this process kill and delete as they like. */
async function isOwn(root: string): Promise<boolean> {
  const found = await lstat(root);
  return found.isDirectory() && (process.getuid === undefined || found.uid === process.getuid());
}

function unusable(root: string, got: string, fix: string): MillraceError {
  return new MillraceError(
    'folder-unusable',
    `${root}: expected a folder of this user's own, but ${got}. ${fix}`,
    {
      details: { folder: root },
    },
  );
}

/** Never seen half written. */
async function writeOwner(folder: string): Promise<void> {
  const draft = join(folder, `.${ownerFile}`);
  await writeFile(draft, JSON.stringify(stampOf(process.pid)));
  await rename(draft, join(folder, ownerFile));
}

async function readStamp(file: string): Promise<ProcessStamp | null> {
  try {
    const found = JSON.parse(await readFile(file, 'utf8')) as Partial<ProcessStamp> | null;
    return typeof found?.pid === 'number' && typeof found.host === 'string' ? (found as ProcessStamp) : null;
  } catch {
    // Not there, or no stamp: nothing is known, so nothing is touched.
    return null;
  }
}

async function namesIn(root: string): Promise<string[]> {
  try {
    if (!(await isOwn(root))) return [];
    const entries = await readdir(root, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    // Nobody has made it yet.
    return [];
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended this moment, which is what was wanted.
  }
}
