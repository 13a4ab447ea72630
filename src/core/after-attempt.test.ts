import { describe, expect, it } from 'vitest';
import { type AttemptedJob, type AttemptOutcome, decideAfterAttempt } from './after-attempt.js';
import { defaultBackoff } from './backoff.js';

const first: AttemptedJob = { attempts: 0, maxAttempts: 3, backoff: defaultBackoff };
const last: AttemptedJob = { ...first, attempts: 2 };

function decide(job: AttemptedJob, outcome: AttemptOutcome) {
  return decideAfterAttempt(job, outcome, () => 1);
}

describe('decideAfterAttempt', () => {
  it.each([
    ['a value', { kind: 'value' }, { kind: 'completed', charged: false }],
    ['a failure', { kind: 'failed' }, { kind: 'retry', charged: true, delayMs: 5000 }],
    ['a timeout', { kind: 'timed-out' }, { kind: 'retry', charged: true, delayMs: 5000 }],
    [
      'a failure that says when',
      { kind: 'failed', retryAfterMs: 77 },
      { kind: 'retry', charged: true, delayMs: 77 },
    ],
    ['a failure for good', { kind: 'failed', nonRetriable: true }, { kind: 'buried', charged: true }],
    ['a snooze', { kind: 'snoozed', delayMs: 60_000 }, { kind: 'snoozed', charged: false, delayMs: 60_000 }],
    ['a cancel', { kind: 'cancelled', reason: 'why' }, { kind: 'cancelled', charged: false }],
    ['a put-back', { kind: 'put-back' }, { kind: 'put-back', charged: false, delayMs: 0 }],
    [
      'a put-back for later',
      { kind: 'put-back', delayMs: 9 },
      { kind: 'put-back', charged: false, delayMs: 9 },
    ],
  ] as const)('after %s', (_, outcome, decision) => {
    expect(decide(first, outcome)).toEqual(decision);
  });

  it('buries a job whose last attempt failed or timed out, also when it says when to retry', () => {
    for (const outcome of [
      { kind: 'failed' },
      { kind: 'timed-out' },
      { kind: 'failed', retryAfterMs: 1 },
    ] as const) {
      expect(decide(last, outcome)).toEqual({ kind: 'buried', charged: true });
    }
  });

  it('does not bury at the last attempt for what is not charged', () => {
    expect(decide(last, { kind: 'snoozed', delayMs: 1 }).kind).toBe('snoozed');
    expect(decide(last, { kind: 'put-back' }).kind).toBe('put-back');
  });

  it('buries at once when there is one attempt only, or the maximum was lowered meanwhile', () => {
    expect(decide({ ...first, maxAttempts: 1 }, { kind: 'failed' }).kind).toBe('buried');
    expect(decide({ ...first, attempts: 5, maxAttempts: 2 }, { kind: 'failed' }).kind).toBe('buried');
  });

  it('waits longer with each charged attempt', () => {
    const job = { ...first, maxAttempts: 10 };
    const delays = [0, 1, 2].map((attempts) => decide({ ...job, attempts }, { kind: 'failed' }));
    expect(delays).toMatchObject([{ delayMs: 5000 }, { delayMs: 10_000 }, { delayMs: 20_000 }]);
  });

  it('takes a wait that makes no sense for none', () => {
    expect(decide(first, { kind: 'snoozed', delayMs: -5 })).toMatchObject({ delayMs: 0 });
    expect(decide(first, { kind: 'failed', retryAfterMs: Number.NaN })).toMatchObject({ delayMs: 0 });
  });
});
