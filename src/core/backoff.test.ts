import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Backoff, defaultBackoff, resolveBackoff, retryDelayMs } from './backoff.js';

const full = (): number => 1;

describe('resolveBackoff', () => {
  it('defaults to exponential with full jitter, from 5 s to 1 h', () => {
    expect(resolveBackoff(undefined)).toBe(defaultBackoff);
    expect(resolveBackoff('exponential')).toEqual(defaultBackoff);
    expect(defaultBackoff).toEqual({ type: 'exponential', baseMs: 5000, maxMs: 3_600_000, jitter: true });
  });

  it('draws no jitter for a fixed wait unless asked to', () => {
    expect(resolveBackoff('fixed').jitter).toBe(false);
    expect(resolveBackoff({ type: 'fixed', jitter: true }).jitter).toBe(true);
    expect(resolveBackoff({ type: 'linear', jitter: false }).jitter).toBe(false);
  });

  it('raises the default maximum for a longer base', () => {
    expect(resolveBackoff({ type: 'fixed', base: '2h' })).toMatchObject({
      baseMs: 7_200_000,
      maxMs: 7_200_000,
    });
  });

  it.each([
    ['random', 'option-invalid'],
    [null, 'option-invalid'],
    [[], 'option-invalid'],
    [{ type: 'cubic' }, 'option-invalid'],
    [{}, 'option-invalid'],
    [{ type: 'fixed', base: 'soon' }, 'option-invalid'],
    [{ type: 'fixed', base: '10s', max: '5s' }, 'option-invalid'],
    [{ type: 'fixed', jitter: 'yes' }, 'option-invalid'],
    [{ type: 'fixed', delay: 5 }, 'option-unknown'],
  ])('refuses %j', (value, code) => {
    expect(() => resolveBackoff(value as Backoff)).toThrowError(
      expect.objectContaining({ code, message: expect.stringContaining('option "backoff"') }),
    );
  });
});

describe('retryDelayMs', () => {
  it.each([
    ['exponential', [5000, 10_000, 20_000, 40_000]],
    ['linear', [5000, 10_000, 15_000, 20_000]],
    ['fixed', [5000, 5000, 5000, 5000]],
  ] as const)('grows as %s', (type, expected) => {
    const backoff = resolveBackoff(type);
    expect([1, 2, 3, 4].map((failures) => retryDelayMs(backoff, failures, full))).toEqual(expected);
  });

  it('is a random part of min(1 h, 5 s × 2^(n−1))', () => {
    expect(retryDelayMs(defaultBackoff, 3, () => 0)).toBe(0);
    expect(retryDelayMs(defaultBackoff, 3, () => 0.25)).toBe(5000);
    expect(retryDelayMs(defaultBackoff, 30, () => 0.5)).toBe(1_800_000);
  });

  it('is a whole number from 0 to the maximum for any count of failures', () => {
    const types = fc.constantFrom('exponential' as const, 'linear' as const, 'fixed' as const);
    const failures = fc.integer({ min: 0, max: 1_000_000 });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(types, failures, random, fc.nat(10_000), (type, n, drawn, base) => {
        const backoff = resolveBackoff({ type, base });
        const delayMs = retryDelayMs(backoff, n, () => drawn);
        expect(Number.isSafeInteger(delayMs)).toBe(true);
        expect(delayMs).toBeGreaterThanOrEqual(0);
        expect(delayMs).toBeLessThanOrEqual(backoff.maxMs);
      }),
    );
  });
});
