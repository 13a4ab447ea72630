/*
 * What browser lanes do as their disk fills up: clean from below the gate on, so that the gate, once shut, opens again by
 * what is done behind it.
 */

const gigabyte = 1024 ** 3;

/** Lanes without a job make room from here on. */
const cleanFrom = 0.85;
/** Lanes take no jobs from here on, where less than the least is free as well: much is left of a large disk. */
const shutFrom = 0.9;
const leastFreeBytes = 2 * gigabyte;
/** A gate that is shut opens below this, or above that: not with every file that comes and goes. */
const openBelow = 0.87;
const openFromBytes = 2.25 * gigabyte;

export interface DiskFacts {
  /** From 0 to 1: used ÷ (used + what this user may still use). */
  readonly usedShare: number;
  readonly freeBytes: number;
}

/** `cleaning`: jobs are taken, and lanes without one make room. `shut`: lanes make room, and take no jobs. */
export type DiskState = 'open' | 'cleaning' | 'shut';

/** A disk that can't be asked (null) says nothing: what was known of it stands. */
export function judgeDisk(before: DiskState, facts: DiskFacts | null): DiskState {
  if (facts === null) return before;
  const { usedShare, freeBytes } = facts;
  const isFull = usedShare >= shutFrom && freeBytes < leastFreeBytes;
  const mayOpen = usedShare < openBelow || freeBytes >= openFromBytes;
  if (isFull || (before === 'shut' && !mayOpen)) return 'shut';
  return usedShare >= cleanFrom ? 'cleaning' : 'open';
}

const worthCleaningBytes = 64 * 1024 ** 2;
const folderMostBytes = gigabyte;

/** Why a Chrome without a job makes room for a new one for the sake of its folder, in words; null: it goes on. */
export function whyClean(state: DiskState, folderBytes: number): string | null {
  const most = state === 'open' ? folderMostBytes : worthCleaningBytes;
  if (folderBytes <= most) return null;
  const megabytes = Math.round(folderBytes / 1024 ** 2);
  return `has a folder of ${megabytes} MB${state === 'open' ? '' : ' on a disk that is nearly full'}`;
}
