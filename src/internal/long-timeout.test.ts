import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLongTimeout } from './long-timeout.js';

const dayMs = 86_400_000;

describe('setLongTimeout', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('fires once, after 60 days, which is beyond what one timer can hold', () => {
    const fn = vi.fn();
    setLongTimeout(fn, 60 * dayMs);
    vi.advanceTimersByTime(60 * dayMs - 1);
    expect(fn).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fn).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(60 * dayMs);
    expect(fn).toHaveBeenCalledOnce();
  });

  it('never fires once it was taken back, also after its first leg', () => {
    const fn = vi.fn();
    const timeout = setLongTimeout(fn, 60 * dayMs);
    vi.advanceTimersByTime(40 * dayMs);
    timeout.cancel();
    timeout.cancel();
    vi.advanceTimersByTime(60 * dayMs);
    expect(fn).not.toHaveBeenCalled();
  });

  it.each([0, -5, Number.NaN])('takes %d for as soon as possible', (ms) => {
    const fn = vi.fn();
    setLongTimeout(fn, ms);
    expect(fn).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fn).toHaveBeenCalledOnce();
  });

  it('never fires for Infinity', () => {
    const fn = vi.fn();
    const timeout = setLongTimeout(fn, Number.POSITIVE_INFINITY);
    vi.advanceTimersByTime(1000 * dayMs);
    expect(fn).not.toHaveBeenCalled();
    timeout.cancel();
  });
});

it('lets the process end when asked to', () => {
  vi.useFakeTimers();
  const unref = vi.spyOn(globalThis, 'setTimeout');
  const timeout = setLongTimeout(() => undefined, 1000, { unref: true });
  const timer = unref.mock.results[0]?.value as NodeJS.Timeout;
  expect(timer.hasRef()).toBe(false);
  timeout.cancel();
  unref.mockRestore();
  vi.useRealTimers();
});
