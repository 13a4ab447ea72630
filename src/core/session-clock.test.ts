import { describe, expect, it } from 'vitest';
import { sessionDeadline } from './session-clock.js';

const times = { firstContactMs: 30_000, idleMs: 300_000, ttlMs: 3_600_000 };
const openedAtMs = 1_000;

describe('the end of a session', () => {
  it('comes early when nobody ever uses it', () => {
    expect(sessionDeadline({ openedAtMs, usedAtMs: null, isBusy: false }, times)).toEqual({
      atMs: 31_000,
      reason: 'no-first-contact',
    });
  });

  it('moves on with each use', () => {
    expect(sessionDeadline({ openedAtMs, usedAtMs: 50_000, isBusy: false }, times)).toEqual({
      atMs: 350_000,
      reason: 'idle',
    });
  });

  it('does not come for want of use while a command runs', () => {
    expect(sessionDeadline({ openedAtMs, usedAtMs: 50_000, isBusy: true }, times).reason).toBe('ttl');
    expect(sessionDeadline({ openedAtMs, usedAtMs: null, isBusy: true }, times).reason).toBe('ttl');
  });

  it('is never later than the total, however much it is used', () => {
    expect(sessionDeadline({ openedAtMs, usedAtMs: 3_600_000, isBusy: false }, times)).toEqual({
      atMs: 3_601_000,
      reason: 'ttl',
    });
    const short = { ...times, ttlMs: 10_000 };
    expect(sessionDeadline({ openedAtMs, usedAtMs: null, isBusy: false }, short)).toEqual({
      atMs: 11_000,
      reason: 'ttl',
    });
  });
});
