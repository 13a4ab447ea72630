/**
 * The identity of a worker that is kept over restarts: a state folder and a numbered slot in it, `w-<folder>-<slot>`.
 *
 *   folder/worker-id        eight hex digits, drawn when the folder is first used
 *   folder/slot-1.lock      who holds the slot now: its process and incarnation
 *   folder/slot-1.json      how often it was taken, by whom last, and whether that one gave it back
 *
 * free ──create the lock──▶ held ──release──▶ free
 * held by a process that is proven to be over ──one newcomer wins the takeover──▶ held
 *
 * Who gets a lock that another has left behind knows that the incarnation in it has ended, so its registration may be
 * replaced and its leases taken back at once. A holder of whom nothing is proven (another machine, another container)
 * keeps its slot while it touches the lock; one that has not for half an hour loses the slot, and nothing is taken for
 * proven. A newcomer takes the next slot meanwhile: nobody ever waits.
 *
 * Two copies of a folder hold the same slot each in its own: the database has the last word on who has the id
 * (`register`). A folder that can't be written is told once, and the worker gets an id of its own.
 */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../internal/logger.js';
import { isProvenOver, type ProcessStamp, stampOf } from '../../internal/process-stamp.js';

export interface Slot {
  readonly id: string;
  readonly number: number;
  readonly folder: string;
  /** How often it was taken before. */
  readonly restarts: number;
  /** The incarnation that held it last and has ended for sure; null where that is not known. */
  readonly ended: string | null;
  /** Says that it is still held; to be called now and then. */
  touch(): void;
  /** Lets the next one have it. */
  release(): void;
}

interface Lock {
  readonly stamp: ProcessStamp;
  readonly incarnation: string;
}

/** More workers than that on one folder get ids of their own. */
const mostSlots = 256;
/** A lock that was not touched for so long is nobody's. */
const abandonedMs = 30 * 60_000;

/** @throws what the file system says, when the folder can't be used */
export function takeSlot(folder: string, incarnation: string): Slot | null {
  mkdirSync(folder, { recursive: true });
  const base = folderId(folder);
  const lock: Lock = { stamp: stampOf(process.pid), incarnation };
  for (let number = 1; number <= mostSlots; number += 1) {
    const file = join(folder, `slot-${number}.lock`);
    const taken = takeLock(file, lock);
    if (taken !== null) return slotOf({ folder, base, number, file, lock }, taken.ended);
  }
  return null;
}

/** The same for a worker, which goes on without one: null where no folder is wanted, or none can be had. */
export function slotIn(
  folder: string | null,
  { incarnation, logger }: { readonly incarnation: string; readonly logger: Logger },
): Slot | null {
  if (folder === null) return null;
  try {
    return takeSlot(folder, incarnation);
  } catch (error) {
    logger.warn(
      `the state folder ${folder} can't be used: this worker gets a new id at each start. Make it writable, or set MILLRACE_STATE_DIR`,
      { error },
    );
    return null;
  }
}

/** Null: somebody else has it. */
function takeLock(file: string, lock: Lock): { readonly ended: string | null } | null {
  if (createWhole(file, JSON.stringify(lock))) return { ended: null };
  const left = readLock(file);
  if (left === null || !isLeft(file, left)) return null;
  return takeOver(file, lock) ? { ended: isProvenOver(left.stamp) ? left.incarnation : null } : null;
}

/**
 * Of many newcomers one gets to replace a lock that was left behind. They meet at a second lock; whoever has that looks
 * again, since the one before may have replaced it already.
 */
function takeOver(file: string, lock: Lock): boolean {
  const turn = `${file}.takeover`;
  if (!createWhole(turn, JSON.stringify(lock))) {
    const other = readLock(turn);
    // Its owner died in the middle of these few lines: the next newcomer finds the way free.
    if (other !== null && isProvenOver(other.stamp)) rmSync(turn, { force: true });
    return false;
  }
  try {
    const left = readLock(file);
    if (left === null || !isLeft(file, left)) return false;
    const fresh = `${file}.${lock.incarnation}`;
    writeFileSync(fresh, JSON.stringify(lock));
    renameSync(fresh, file);
    return true;
  } finally {
    rmSync(turn, { force: true });
  }
}

function isLeft(file: string, { stamp }: Lock): boolean {
  if (isProvenOver(stamp)) return true;
  try {
    return Date.now() - statSync(file).mtimeMs > abandonedMs;
  } catch {
    // Released this moment; the next start finds it free.
    return false;
  }
}

interface SlotParts {
  readonly folder: string;
  readonly base: string;
  readonly number: number;
  readonly file: string;
  readonly lock: Lock;
}

interface History {
  readonly starts: number;
  readonly incarnation: string;
  /** Its holder gave it back, and so had ended. Not so in a copy that was made while it ran. */
  readonly isReleased: boolean;
}

function slotOf({ folder, base, number, file, lock }: SlotParts, ended: string | null): Slot {
  const historyFile = join(folder, `slot-${number}.json`);
  const before = readHistory(historyFile);
  const starts = (before?.starts ?? 0) + 1;
  const isOurs = (): boolean => readLock(file)?.incarnation === lock.incarnation;
  const note = (isReleased: boolean): void => {
    const history: History = { starts, incarnation: lock.incarnation, isReleased };
    writeFileSync(historyFile, JSON.stringify(history));
  };
  note(false);
  return {
    id: `w-${base}-${number}`,
    number,
    folder,
    restarts: starts - 1,
    ended: ended ?? (before?.isReleased === true ? before.incarnation : null),
    touch() {
      try {
        if (isOurs()) utimesSync(file, new Date(), new Date());
      } catch {
        // A folder that is gone or read-only now costs the id at the next start, nothing else.
      }
    },
    release() {
      try {
        if (!isOurs()) return;
        note(true);
        rmSync(file, { force: true });
      } catch {
        // The process ends, which frees the lock as well.
      }
    },
  };
}

/** Drawn once for each folder, also when many come at the same time. */
function folderId(folder: string): string {
  const file = join(folder, 'worker-id');
  createWhole(file, randomBytes(4).toString('hex'));
  const id = readFileSync(file, 'utf8').trim();
  if (/^[0-9a-f]{8}$/.test(id)) return id;
  throw new Error(`${file}: expected eight hex digits, got something else; delete the file`);
}

/** Nobody sees it half written, and nobody's is replaced: false when it was there. */
function createWhole(file: string, text: string): boolean {
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, text);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    return createWithoutLinks(file, text, error);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Some file systems know no hard links. A reader may then see the file empty for a moment, and leaves it alone. */
function createWithoutLinks(file: string, text: string, cause: unknown): boolean {
  let opened: number;
  try {
    opened = openSync(file, 'wx');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new Error(`${file} can't be written`, { cause });
  }
  try {
    writeSync(opened, text);
  } finally {
    closeSync(opened);
  }
  return true;
}

function readLock(file: string): Lock | null {
  const found = readJson(file) as Partial<Lock> | null;
  const isLock = typeof found?.incarnation === 'string' && typeof found.stamp?.pid === 'number';
  return isLock ? (found as Lock) : null;
}

function readHistory(file: string): History | null {
  const found = readJson(file) as Partial<History> | null;
  return Number.isInteger(found?.starts) && typeof found?.incarnation === 'string'
    ? (found as History)
    : null;
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as unknown;
  } catch {
    // Not there, or not whole: nothing is known.
    return null;
  }
}
