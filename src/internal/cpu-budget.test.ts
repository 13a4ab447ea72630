import { describe, expect, it } from 'vitest';
import { cgroupLevels } from './cgroup-levels.js';
import { readCpuBudget } from './cpu-budget.js';

type Files = Readonly<Record<string, string | { readonly code: string }>>;

/** Files as a kernel shows them; an object stands for one that can't be read. */
const reader =
  (files: Files) =>
  (path: string): string => {
    const found = files[path] ?? { code: 'ENOENT' };
    if (typeof found === 'string') return found;
    throw Object.assign(new Error(`${found.code}: ${path}`), found);
  };

const status = 'Name:\tnode\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n';
const v2 = {
  '/proc/self/cgroup': '0::/system.slice/app.service\n',
  '/proc/self/mountinfo': '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n',
  '/proc/self/status': status,
};
const v1 = {
  '/proc/self/cgroup': '5:cpuset:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n',
  '/proc/self/mountinfo': [
    '31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755',
    '32 31 0:29 /docker/abc /sys/fs/cgroup/cpu\\040acct rw - cgroup cgroup rw,cpu,cpuacct',
    '34 31 0:31 /docker/abc /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset',
  ].join('\n'),
  '/proc/self/status': status,
};

describe('the cpu budget', () => {
  it.each<[string, Files, number, RegExp]>([
    ['is the affinity where there is no control group', { '/proc/self/status': status }, 8, /^affinity/],
    [
      'is the quota of version 2',
      { ...v2, '/sys/fs/cgroup/system.slice/app.service/cpu.max': '150000 100000\n' },
      1.5,
      /^cgroup v2 quota \(.*app\.service\/cpu\.max/,
    ],
    [
      'is the smallest quota on the way up',
      {
        ...v2,
        '/sys/fs/cgroup/system.slice/app.service/cpu.max': 'max 100000\n',
        '/sys/fs/cgroup/system.slice/cpu.max': '200000 100000\n',
      },
      2,
      /system\.slice\/cpu\.max/,
    ],
    [
      'is the cpuset of version 2',
      { ...v2, '/sys/fs/cgroup/system.slice/app.service/cpuset.cpus.effective': '0-1,4\n' },
      3,
      /^cpuset/,
    ],
    ['ignores a quota without a limit', { ...v2, '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, 8, /^affinity/],
    [
      'is the quota of version 1, where only a part of the tree is mounted',
      {
        ...v1,
        '/sys/fs/cgroup/cpu acct/cpu.cfs_quota_us': '400000\n',
        '/sys/fs/cgroup/cpu acct/cpu.cfs_period_us': '100000\n',
      },
      4,
      /^cgroup v1 quota/,
    ],
    ['is the cpuset of version 1', { ...v1, '/sys/fs/cgroup/cpuset/cpuset.cpus': '2\n' }, 1, /^cpuset/],
    [
      'is no quota where it is -1',
      { ...v1, '/sys/fs/cgroup/cpu acct/cpu.cfs_quota_us': '-1\n' },
      8,
      /^affinity/,
    ],
    [
      'is the affinity where that is the narrowest',
      { ...v2, '/proc/self/status': 'Cpus_allowed_list:\t3\n', '/sys/fs/cgroup/cpu.max': '200000 100000\n' },
      1,
      /^affinity/,
    ],
  ])('%s', (_, files, cores, from) => {
    const budget = readCpuBudget(reader(files), () => 64);
    expect(budget).toMatchObject({ cores, skipped: [] });
    expect(budget.from).toMatch(from);
  });

  it('without any source is what the runtime sees', () => {
    expect(readCpuBudget(reader({}), () => 6)).toEqual({
      cores: 6,
      from: 'cores that the runtime sees',
      skipped: [],
    });
  });

  it('skips what can’t be read or understood, and names it', () => {
    const budget = readCpuBudget(
      reader({
        ...v2,
        '/sys/fs/cgroup/system.slice/app.service/cpu.max': { code: 'EACCES' },
        '/sys/fs/cgroup/system.slice/cpu.max': 'a lot\n',
        '/sys/fs/cgroup/cpuset.cpus.effective': '3-1\n',
      }),
      () => 64,
    );
    expect(budget).toMatchObject({ cores: 8 });
    expect(budget.skipped).toEqual([
      '/sys/fs/cgroup/system.slice/app.service/cpu.max: EACCES',
      '/sys/fs/cgroup/system.slice/cpu.max: expected a quota and a period in µs',
      'cpuset (/sys/fs/cgroup/cpuset.cpus.effective): expected a list of cores such as 0-3,7',
    ]);
  });

  it('of this machine is at least something', () => {
    expect(readCpuBudget().cores).toBeGreaterThan(0);
  });
});

describe('the levels of a control group', () => {
  it('are those of both versions where a machine has both', () => {
    const files = {
      '/proc/self/cgroup': '4:memory:/a/b\n3:cpu:/\n0::/x\n',
      '/proc/self/mountinfo': [
        '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory',
        '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw',
      ].join('\n'),
    };
    expect(cgroupLevels(reader(files), 'memory')).toEqual([
      { version: 2, folders: ['/sys/fs/cgroup/unified/x', '/sys/fs/cgroup/unified'] },
      {
        version: 1,
        folders: ['/sys/fs/cgroup/memory/a/b', '/sys/fs/cgroup/memory/a', '/sys/fs/cgroup/memory'],
      },
    ]);
  });

  it('outside of what this namespace may see are left out', () => {
    const files = {
      '/proc/self/cgroup': '0::/../../other\n',
      '/proc/self/mountinfo': '41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
    };
    expect(cgroupLevels(reader(files), 'cpu')).toEqual([{ version: 2, folders: ['/sys/fs/cgroup'] }]);
  });
});
