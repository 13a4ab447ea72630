import { describe, expect, it } from 'vitest';
import { parseUsage } from './process-usage.js';

describe('what the kernel tells of a process', () => {
  const stat = '42 (a (strange) name) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 7 0 100 3133440 359 0';

  it('is read past a name of any kind', () => {
    expect(parseUsage('Name:\tnode\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\n', stat)).toEqual({
      rssBytes: 1024 * 1024,
      peakRssBytes: 2048 * 1024,
      cpuMs: 3_000,
    });
  });

  it('is nothing of a process that has ended and was not reaped', () => {
    expect(parseUsage('Name:\tnode\nState:\tZ (zombie)\n', stat)).toBeNull();
    expect(parseUsage('VmHWM: 1 kB\nVmRSS: 1 kB', '')).toBeNull();
  });
});
