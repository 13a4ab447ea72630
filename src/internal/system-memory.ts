/**
 * How much memory this process could still get, before it or a neighbour is killed for it: from its control groups
 * (version 2, then 1) where one of them has a limit, else from the machine, else unknown.
 */
import { type CgroupLevels, cgroupLevels, type ReadText } from './cgroup-levels.js';

export interface SystemMemory {
  readonly source: 'cgroup v2' | 'cgroup v1' | 'meminfo';
  readonly totalBytes: number;
  readonly availableBytes: number;
}

interface GroupFiles {
  readonly source: SystemMemory['source'];
  readonly limit: string;
  readonly usage: string;
  /** The name in memory.stat of file cache that the kernel gives up before it kills. */
  readonly inactiveFile: string;
}

const filesOf: Readonly<Record<CgroupLevels['version'], GroupFiles>> = {
  2: { source: 'cgroup v2', limit: 'memory.max', usage: 'memory.current', inactiveFile: 'inactive_file' },
  1: {
    source: 'cgroup v1',
    limit: 'memory.limit_in_bytes',
    usage: 'memory.usage_in_bytes',
    inactiveFile: 'total_inactive_file',
  },
};

/** Version 1 writes "no limit" as the largest multiple of a page below 2^63; no machine has a thousandth of that. */
const unlimitedBytes = 2 ** 53;

/** Null: nothing can be read (not Linux, or not allowed). A few small files of the kernel; no disk. */
export function readSystemMemory(read: ReadText): SystemMemory | null {
  for (const levels of cgroupLevels(read, 'memory')) {
    const bounds = levels.folders.flatMap((folder) => groupMemory(read, folder, filesOf[levels.version]));
    const [tightest] = bounds.sort((a, b) => a.availableBytes - b.availableBytes);
    if (tightest !== undefined) return tightest;
  }
  return machineMemory(attempt(read, '/proc/meminfo'));
}

function groupMemory(read: ReadText, folder: string, files: GroupFiles): SystemMemory[] {
  const totalBytes = wholeNumber(attempt(read, `${folder}/${files.limit}`));
  const usedBytes = wholeNumber(attempt(read, `${folder}/${files.usage}`));
  if (totalBytes === null || usedBytes === null || totalBytes >= unlimitedBytes) return [];
  const stat = attempt(read, `${folder}/memory.stat`);
  const cache = wholeNumber(new RegExp(`^${files.inactiveFile} (\\d+)$`, 'm').exec(stat)?.[1] ?? '') ?? 0;
  const availableBytes = Math.min(
    Math.max(totalBytes - usedBytes + Math.min(cache, usedBytes), 0),
    totalBytes,
  );
  return [{ source: files.source, totalBytes, availableBytes }];
}

function machineMemory(text: string): SystemMemory | null {
  const kilobytes = (name: string): number | null =>
    wholeNumber(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? '');
  const total = kilobytes('MemTotal');
  const available = kilobytes('MemAvailable');
  if (total === null || available === null) return null;
  return { source: 'meminfo', totalBytes: total * 1024, availableBytes: available * 1024 };
}

/** Null for `max` and for what is no number. */
function wholeNumber(text: string): number | null {
  return /^\s*\d+\s*$/.test(text) ? Number(text) : null;
}

function attempt(read: ReadText, path: string): string {
  try {
    return read(path);
  } catch {
    // Not on this system, or not for this user: as good as empty.
    return '';
  }
}
