import { readFile } from 'node:fs/promises';

/** What a process takes, as the kernel tells others of it. */
export interface ProcessUsage {
  /** Resident now. */
  readonly rssBytes: number;
  /** The most that was resident since the mark was last put back. */
  readonly peakRssBytes: number;
  /** Since its start. */
  readonly cpuMs: number;
}

/** Of every Linux that Node runs on: the unit of times in /proc is the hundredth of a second. */
const tickMs = 10;
const kilobyte = 1024;

/** Null where the kernel does not tell (not Linux), or the process is gone. */
export async function readProcessUsage(pid: number): Promise<ProcessUsage | null> {
  try {
    const [status, stat] = await Promise.all([
      readFile(`/proc/${pid}/status`, 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ]);
    return parseUsage(status, stat);
  } catch {
    // Gone in the meantime, or there is no /proc.
    return null;
  }
}

/** A process that has ended but was not reaped has no memory any more. */
export function parseUsage(status: string, stat: string): ProcessUsage | null {
  const rss = /^VmRSS:\s+(\d+) kB$/m.exec(status);
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(status);
  // The name in brackets may hold blanks and brackets itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  if (rss === null || peak === null || !Number.isFinite(user + system)) return null;
  return {
    rssBytes: Number(rss[1]) * kilobyte,
    peakRssBytes: Number(peak[1]) * kilobyte,
    cpuMs: (user + system) * tickMs,
  };
}
