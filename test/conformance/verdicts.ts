import { failure, MINUTE, type Verdict } from './stage.js';

export const buried: Verdict = { kind: 'buried', reason: 'non-retriable', errors: failure() };
export const cancelled: Verdict = { kind: 'cancelled', reason: 'mine' };

/** Those that end a job. */
export function endingVerdicts(): Verdict[] {
  return [
    { kind: 'completed', result: '{"ok":true}' },
    { kind: 'buried', reason: 'non-retriable', errors: failure() },
    { kind: 'cancelled', reason: 'no' },
  ];
}

/** Those that bring it back to its line. */
export function returningVerdicts(): Verdict[] {
  return [
    { kind: 'retry', delayMs: MINUTE, errors: failure() },
    { kind: 'snoozed', delayMs: MINUTE },
    { kind: 'put-back', delayMs: MINUTE, reason: 'drain' },
  ];
}
