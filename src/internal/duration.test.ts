import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, longestDurationMs, parseDuration } from './duration.js';

const name = 'option "delay"';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1w', 604_800_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1500],
    [' 1s ', 1000],
    ['0s', 0],
    [1234, 1234],
    [0.4, 0],
    [0, 0],
  ])('reads %j as %d ms', (value, ms) => {
    expect(parseDuration(value, { name })).toBe(ms);
  });

  it.each([
    '',
    ' ',
    '5',
    '5 minutes',
    's',
    '-1s',
    '1e3s',
    '1h 30m',
    'Infinity',
    '.5s',
    '1s'.repeat(60),
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    longestDurationMs + 1,
    null,
    undefined,
    {},
    10n,
  ])('refuses %s', (value) => {
    expect(() => parseDuration(value, { name })).toThrowError(
      expect.objectContaining({ code: 'option-invalid', message: expect.stringContaining(name) }),
    );
  });

  it('says which unit a bare number lacks', () => {
    expect(() => parseDuration('30', { name })).toThrowError(/expected .*, got "30".*'30s'/);
  });

  it('holds the bounds it is given', () => {
    expect(() => parseDuration('1s', { name, min: 2000 })).toThrowError(/at least 2s/);
    expect(() => parseDuration('3s', { name, max: 2000 })).toThrowError(/at most 2s/);
    expect(parseDuration('2s', { name, min: 2000, max: 2000 })).toBe(2000);
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [250, '250ms'],
    [90_000, '1m30s'],
    [604_800_000, '7d'],
    [-1500, '-1s500ms'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
  ])('writes %d as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('is read back to the same number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: longestDurationMs }), (ms) => {
        expect(parseDuration(formatDuration(ms), { name })).toBe(ms);
      }),
    );
  });
});
