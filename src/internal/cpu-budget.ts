import { availableParallelism } from 'node:os';
import { type CgroupLevels, cgroupLevels, type ReadText, readTextBelow } from './cgroup-levels.js';

/** How many cores this process may use, and who says so. */
export interface CpuBudget {
  /** Above 0; a quota need not be whole. */
  readonly cores: number;
  /** The source that decided, in words: `cgroup v2 quota (/sys/fs/cgroup/app/cpu.max)`. */
  readonly from: string;
  /** Sources that exist but could not be read or understood, each with why. */
  readonly skipped: readonly string[];
}

interface Found {
  readonly cores: number;
  readonly from: string;
}

/**
 * The smallest of every quota on the way up the control groups (version 2 and 1), of the cpusets there and of the
 * affinity of this process. Without any of them, what the runtime says.
 */
export function readCpuBudget(
  read: ReadText = readTextBelow('/'),
  parallelism: () => number = availableParallelism,
): CpuBudget {
  const skipped: string[] = [];
  const found = [...quotas(read, skipped), ...cpusets(read, skipped), ...affinity(read, skipped)];
  const runtime = { cores: parallelism(), from: 'cores that the runtime sees' };
  const smallest = found.reduce<Found>((least, next) => (next.cores < least.cores ? next : least), runtime);
  return { ...smallest, skipped };
}

function quotas(read: ReadText, skipped: string[]): Found[] {
  return cgroupLevels(read, 'cpu').flatMap(({ version, folders }) =>
    folders.flatMap((folder) => {
      const found = version === 2 ? quotaOfV2(read, folder, skipped) : quotaOfV1(read, folder, skipped);
      return found === null ? [] : [found];
    }),
  );
}

/** `200000 100000`: so many µs of processor time in so many µs; `max 100000`: no quota. */
function quotaOfV2(read: ReadText, folder: string, skipped: string[]): Found | null {
  const file = `${folder}/cpu.max`;
  const text = textOf(read, file, skipped);
  if (text === null) return null;
  const [quota, period = '100000'] = text.split(/\s+/);
  if (quota === 'max') return null;
  return quotient(Number(quota), Number(period), { from: `cgroup v2 quota (${file})`, file, skipped });
}

function quotaOfV1(read: ReadText, folder: string, skipped: string[]): Found | null {
  const file = `${folder}/cpu.cfs_quota_us`;
  const quota = textOf(read, file, skipped);
  if (quota === null || quota === '-1') return null;
  const period = textOf(read, `${folder}/cpu.cfs_period_us`, skipped) ?? '100000';
  return quotient(Number(quota), Number(period), { from: `cgroup v1 quota (${file})`, file, skipped });
}

function quotient(
  quota: number,
  period: number,
  { from, file, skipped }: { readonly from: string; readonly file: string; readonly skipped: string[] },
): Found | null {
  if (quota > 0 && period > 0 && Number.isFinite(quota / period)) return { cores: quota / period, from };
  skipped.push(`${file}: expected a quota and a period in µs`);
  return null;
}

const cpusetFiles: Readonly<Record<CgroupLevels['version'], readonly string[]>> = {
  2: ['cpuset.cpus.effective'],
  1: ['cpuset.effective_cpus', 'cpuset.cpus'],
};

function cpusets(read: ReadText, skipped: string[]): Found[] {
  return cgroupLevels(read, 'cpuset').flatMap(({ version, folders }) =>
    folders.flatMap((folder) => {
      for (const name of cpusetFiles[version]) {
        const file = `${folder}/${name}`;
        const text = textOf(read, file, skipped);
        // Empty: this level sets nothing.
        if (text !== null && text !== '') return listed(text, `cpuset (${file})`, skipped);
      }
      return [];
    }),
  );
}

function affinity(read: ReadText, skipped: string[]): Found[] {
  const file = '/proc/self/status';
  const text = textOf(read, file, skipped);
  const list = text === null ? null : /^Cpus_allowed_list:\s*(\S+)$/m.exec(text);
  return list === null ? [] : listed(list[1] ?? '', `affinity (${file})`, skipped);
}

/** `0-3,7`: five cores. */
function listed(text: string, from: string, skipped: string[]): Found[] {
  let cores = 0;
  for (const part of text.split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (match === null || last < first) {
      skipped.push(`${from}: expected a list of cores such as 0-3,7`);
      return [];
    }
    cores += last - first + 1;
  }
  return [{ cores, from }];
}

/** Null where there is no such file, which is nothing to speak of; one that can't be read is named. */
function textOf(read: ReadText, file: string, skipped: string[]): string | null {
  try {
    return read(file).trim();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== 'ENOENT' && code !== 'ENOTDIR') skipped.push(`${file}: ${code ?? String(error)}`);
    return null;
  }
}
