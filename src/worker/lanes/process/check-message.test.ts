import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkUpMessage } from './check-message.js';

const ended = { type: 'ended', run: 1, settlement: null, isSettled: false, usage: null };

describe('a message of a lane', () => {
  it.each([
    { type: 'ready', names: ['a'] },
    { type: 'started', run: 1 },
    { type: 'line', run: 1, line: { seq: 1, kind: 'log', level: 'info', text: '' } },
    { type: 'said', run: 1, level: 'warn', message: 'x', fields: {} },
    { type: 'call', run: 1, seq: 1, call: { method: 'renew' } },
    { type: 'call', run: 1, seq: 1, call: { method: 'was-settled', hasFailed: true } },
    { type: 'written', run: 1, settlement: { kind: 'completed', result: null } },
    {
      ...ended,
      settlement: { kind: 'retry', delayMs: 0, errors: '[]' },
      usage: { cpuMs: 1, peakRssBytes: 2 },
    },
    { ...ended, settlement: { kind: 'cancelled', reason: null } },
  ])('is taken: %o', (message) => {
    expect(checkUpMessage(message)).toBe(message);
  });

  it.each([
    null,
    'ready',
    [],
    {},
    { type: 'ready' },
    { type: 'started' },
    { type: 'started', run: -1 },
    { type: 'line', run: 1, line: { seq: 1, kind: 'shout', level: 'info', text: '' } },
    { type: 'said', run: 1, level: '__proto__', message: 'x', fields: {} },
    { type: 'call', run: 1, seq: 1, call: { method: 'enqueue', jobs: [{ id: 'x' }] } },
    { type: 'call', run: 1, seq: 1, call: { method: 'settle' } },
    { ...ended, settlement: { kind: 'retry', delayMs: Number.NaN, errors: '[]' } },
    { ...ended, settlement: { kind: 'buried', reason: 'poison', errors: '[]' } },
    { ...ended, settlement: { kind: 'died' } },
    { ...ended, usage: { cpuMs: '1', peakRssBytes: 2 } },
  ])('that does not fit is left out: %o', (message) => {
    expect(checkUpMessage(message)).toBeNull();
  });

  it('may be anything without harm', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        checkUpMessage(value);
        checkUpMessage({ ...ended, settlement: value });
      }),
    );
  });
});
