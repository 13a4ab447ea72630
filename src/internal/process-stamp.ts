import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** What tells one process from every other, also from a later one with its number. Plain data: it is written into locks. */
export interface ProcessStamp {
  readonly pid: number;
  /** Ticks from the boot to its start; null where the system does not say. */
  readonly startTime: string | null;
  readonly bootId: string | null;
  /** In which its pid means something. */
  readonly pidNamespace: string | null;
  readonly host: string;
}

export function stampOf(pid: number): ProcessStamp {
  return {
    pid,
    startTime: startTimeOf(pid),
    bootId: read('/proc/sys/kernel/random/boot_id'),
    pidNamespace: readLink('/proc/self/ns/pid'),
    host: hostname(),
  };
}

/**
 * Whether the process of this stamp is proven to be over, from where we stand: the same boot and PID namespace, and its
 * pid is gone or another's by now. Everything else is no proof: it may live on another machine that shares the folder,
 * or in another container. Where the system tells of no boots, a pid that is gone on a host of the same name is proof.
 */
export function isProvenOver(stamp: ProcessStamp, here = stampOf(process.pid)): boolean {
  if (!isFromHere(stamp, here)) return false;
  if (!exists(stamp.pid)) return true;
  const startTime = startTimeOf(stamp.pid);
  return startTime !== null && stamp.startTime !== null && startTime !== stamp.startTime;
}

/** Whether its pid is proven to be that process still, so that a signal to it meets nobody else. */
export function isProvenAlive(stamp: ProcessStamp, here = stampOf(process.pid)): boolean {
  return isFromHere(stamp, here) && stamp.startTime !== null && startTimeOf(stamp.pid) === stamp.startTime;
}

function isFromHere(stamp: ProcessStamp, here: ProcessStamp): boolean {
  return here.bootId === null
    ? stamp.bootId === null && stamp.host === here.host
    : stamp.bootId === here.bootId && stamp.pidNamespace === here.pidNamespace;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not allowed to signal it: it is there.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Field 22 of the line; the name before may hold spaces and brackets. */
function startTimeOf(pid: number): string | null {
  const line = read(`/proc/${pid}/stat`);
  if (line === null) return null;
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended, whatever its parent knows.
  if (fields[0] === 'Z' || fields[0] === 'X') return 'over';
  return fields[19] ?? null;
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    // No such file, or no Linux: the system does not say.
    return null;
  }
}

function readLink(file: string): string | null {
  try {
    return readlinkSync(file);
  } catch {
    // As above.
    return null;
  }
}
