import { expect, it } from 'vitest';
import { readSystemMemory } from './system-memory.js';

const GB = 1024 ** 3;

/** Reads from a folder of files as they look on such a machine. */
function machine(files: Record<string, string>) {
  return readSystemMemory((path) => {
    const text = files[path];
    if (text === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
    return text;
  });
}

const meminfo = {
  '/proc/meminfo': `MemTotal:        8039992 kB
MemFree:          611188 kB
MemAvailable:    5242880 kB
Buffers:          102400 kB
Cached:          3604480 kB
`,
};

/** Docker with cgroup v2: the container sees its own group as the root. */
const containerV2 = {
  ...meminfo,
  '/proc/self/cgroup': '0::/\n',
  '/proc/self/mountinfo':
    '1573 1562 0:29 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate,memory_recursiveprot\n',
  '/sys/fs/cgroup/memory.max': `${GB}\n`,
  '/sys/fs/cgroup/memory.current': `${0.75 * GB}\n`,
  '/sys/fs/cgroup/memory.stat': `anon 268435456
file 536870912
kernel_stack 49152
inactive_anon 268431360
inactive_file ${0.25 * GB}
active_file 268435456
`,
};

/** systemd with a limit on the slice only: the unit itself says `max`. */
const sliceV2 = {
  ...meminfo,
  '/proc/self/cgroup': '0::/system.slice/worker.service\n',
  '/proc/self/mountinfo':
    '32 24 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n',
  '/sys/fs/cgroup/system.slice/worker.service/memory.max': 'max\n',
  '/sys/fs/cgroup/system.slice/worker.service/memory.current': '52428800\n',
  '/sys/fs/cgroup/system.slice/memory.max': `${2 * GB}\n`,
  '/sys/fs/cgroup/system.slice/memory.current': `${1.5 * GB}\n`,
  '/sys/fs/cgroup/system.slice/memory.stat': 'inactive_file 0\n',
};

/** An older Docker: one tree for each controller. */
const containerV1 = {
  ...meminfo,
  '/proc/self/cgroup': '11:memory:/docker/4f1e\n4:cpu,cpuacct:/docker/4f1e\n1:name=systemd:/docker/4f1e\n',
  '/proc/self/mountinfo':
    '680 671 0:34 /docker/4f1e /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:15 - cgroup cgroup rw,memory\n',
  '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${0.5 * GB}\n`,
  '/sys/fs/cgroup/memory/memory.usage_in_bytes': `${0.5 * GB}\n`,
  '/sys/fs/cgroup/memory/memory.stat': `cache 134217728\ninactive_file 1\ntotal_inactive_file ${0.125 * GB}\n`,
};

it('takes the limit of a version 2 group, file cache that can be given up counted as free', () => {
  expect(machine(containerV2)).toEqual({ source: 'cgroup v2', totalBytes: GB, availableBytes: 0.5 * GB });
});

it('takes the tightest of all levels', () => {
  expect(machine(sliceV2)).toEqual({ source: 'cgroup v2', totalBytes: 2 * GB, availableBytes: 0.5 * GB });
});

it('then that of a version 1 group', () => {
  expect(machine(containerV1)).toEqual({
    source: 'cgroup v1',
    totalBytes: 0.5 * GB,
    availableBytes: 0.125 * GB,
  });
});

it('then the machine, where no group has a limit', () => {
  const expected = { source: 'meminfo', totalBytes: 8_039_992 * 1024, availableBytes: 5 * GB };
  expect(machine({ ...containerV2, '/sys/fs/cgroup/memory.max': 'max\n' })).toEqual(expected);
  const unlimited = {
    ...containerV1,
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
  };
  expect(machine(unlimited)).toEqual(expected);
  expect(machine(meminfo)).toEqual(expected);
});

it('else nothing', () => {
  expect(machine({})).toBe(null);
  expect(machine({ '/proc/meminfo': 'MemTotal: 12 MB\n' })).toBe(null);
});

it('does not take more to be free than there is, nor less than nothing', () => {
  const current = '/sys/fs/cgroup/memory.current';
  expect(machine({ ...containerV2, [current]: `${3 * GB}\n` })).toMatchObject({ availableBytes: 0 });
  expect(machine({ ...containerV2, [current]: '0\n' })).toMatchObject({ availableBytes: GB });
});
