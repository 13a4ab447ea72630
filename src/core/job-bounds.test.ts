import { describe, expect, it } from 'vitest';
import { parseCost, parseGroup, parseMax } from './job-bounds.js';

describe('what bounds a job', () => {
  it('is taken as it is', () => {
    expect(parseGroup('smtp:eu')).toBe('smtp:eu');
    expect(parseMax(1)).toBe(1);
    expect(parseCost(1_000_000)).toBe(1_000_000);
  });

  it.each([
    () => parseGroup(''),
    () => parseGroup('a b'),
    () => parseMax(0),
    () => parseMax(1.5),
    () => parseMax('3'),
    () => parseCost(-1),
    () => parseCost(1_000_001),
  ])('refuses what can not be (%#)', (parse) => {
    expect(parse).toThrow(/expected .+, got/);
  });
});
