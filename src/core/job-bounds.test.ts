import { describe, expect, it } from 'vitest';
import { parseCost, parseGroup, parseLabels, parseMax } from './job-bounds.js';

describe('what bounds a job', () => {
  it('is taken as it is', () => {
    expect(parseGroup('smtp:eu')).toBe('smtp:eu');
    expect(parseMax(1)).toBe(1);
    expect(parseCost(1_000_000)).toBe(1_000_000);
  });

  it('takes labels as a list or a text, sorted and each once', () => {
    expect(parseLabels(['gpu', 'eu', 'gpu'])).toEqual(['eu', 'gpu']);
    expect(parseLabels('gpu, eu')).toEqual(['eu', 'gpu']);
    expect(parseLabels([])).toEqual([]);
  });

  it.each([
    () => parseGroup(''),
    () => parseGroup('a b'),
    () => parseMax(0),
    () => parseMax(1.5),
    () => parseMax('3'),
    () => parseCost(-1),
    () => parseCost(1_000_001),
    () => parseLabels(['a', '']),
    () => parseLabels(7),
    () => parseLabels(Array.from({ length: 11 }, (_, index) => `l${index}`)),
  ])('refuses what can not be (%#)', (parse) => {
    expect(parse).toThrow(/expected .+, got/);
  });
});
