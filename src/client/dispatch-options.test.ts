import { describe, expect, it } from 'vitest';
import { hasErrorCode } from '../internal/errors.js';
import { resolveDispatch } from './dispatch-options.js';

const id = '0199C0DE-7A11-7ABC-9DEF-0123456789AB';

const job = { name: 'a', limit: null };

describe('options of a dispatch', () => {
  it('are resolved', () => {
    expect(
      resolveDispatch(
        {
          id,
          queue: 'q',
          priority: 'low',
          delay: '5m',
          attempts: 2,
          unique: true,
          idempotencyKey: 'k',
          after: [id, { id }],
        },
        job,
      ),
    ).toEqual({
      id: id.toLowerCase(),
      queue: 'q',
      priority: -10,
      due: { inMs: 300_000 },
      maxAttempts: 2,
      unique: { key: null, scope: 'active', periodMs: 0 },
      limit: undefined,
      cost: undefined,
      requires: undefined,
      idempotencyKey: 'k',
      after: { ids: [id.toLowerCase()], onFailure: 'bury' },
    });
  });

  it('take over what they do not say of the limit of the definition, within its group', () => {
    const limit = { group: 'smtp', max: 5, key: null };
    const limitOf = (given: unknown) => resolveDispatch({ limit: given }, { name: 'a', limit }).limit;
    expect(limitOf(undefined)).toBeUndefined();
    expect(limitOf(false)).toBeNull();
    expect(limitOf({ key: 'tenant' })).toEqual({ group: 'smtp', max: 5, key: 'tenant' });
    expect(limitOf({ max: 2 })).toEqual({ group: 'smtp', max: 2, key: null });
    expect(limitOf({ group: 'other' })).toEqual({ group: 'other', max: null, key: null });
  });

  it('know an absolute time by a Date, a number or a text with its zone', () => {
    const atMs = Date.UTC(2030, 0, 31, 8);
    for (const runAt of [new Date(atMs), atMs, '2030-01-31T08:00:00Z', '2030-01-31T09:00+01:00']) {
      expect(resolveDispatch({ runAt }, job).due).toEqual({ atMs });
    }
    for (const runAt of [
      new Date(Number.NaN),
      Number.NaN,
      -1,
      '2030-01-31T08:00:00',
      '2030-01-31',
      'soon',
      9e15,
    ]) {
      expect(() => resolveDispatch({ runAt }, job)).toThrow('runAt');
    }
  });

  it('keep the policy of failed parents, and none where there are no parents', () => {
    expect(resolveDispatch({ after: { jobs: { id }, onFailure: 'run' } }, job).after?.onFailure).toBe('run');
    expect(resolveDispatch({ after: [] }, job).after).toBeNull();
  });

  it.each([
    [{ delay: 5, runAt: 5 }, 'option-invalid', 'contradict'],
    [{ lane: 'process' }, 'option-unknown', 'lane'],
    [{ txn: {} }, 'option-unknown', 'txn'],
    [{ dealy: 5 }, 'option-unknown', 'Did you mean "delay"'],
    [{ after: 'not-an-id' }, 'option-invalid', 'after'],
    [{ after: { jobs: [id], onFail: 'bury' } }, 'option-unknown', 'after.onFail'],
    [{ after: { jobs: [id], onFailure: 'retry' } }, 'option-invalid', 'onFailure'],
    [{ id: 'x' }, 'option-invalid', 'newJobId()'],
    [{ idempotencyKey: '' }, 'option-invalid', 'idempotencyKey'],
    [{ idempotencyKey: 'k'.repeat(1001) }, 'option-invalid', 'idempotencyKey'],
    [{ attempts: 1.5 }, 'option-invalid', 'attempts'],
    [{ unique: 'yes' }, 'option-invalid', 'unique'],
    [{ limit: 3 }, 'option-invalid', '{ group, max, key } or false'],
    [{ limit: { key: 'a' } }, 'option-invalid', 'limit.group'],
    [{ limit: { group: 'a b' } }, 'option-invalid', 'limit.group'],
    [{ limit: { group: 'a', max: 0 } }, 'option-invalid', 'limit.max'],
    [{ limit: { group: 'a', key: '' } }, 'option-invalid', 'limit.key'],
    [{ limit: { group: 'a', key: () => 'b' } }, 'option-invalid', 'belongs in the definition'],
    [{ limit: { group: 'a', maximum: 3 } }, 'option-unknown', 'limit.maximum'],
    [{ cost: 0.5 }, 'option-invalid', 'cost'],
    [{ requires: ['a b'] }, 'option-invalid', 'requires'],
    [[], 'option-invalid', 'an object'],
  ] as const)('refuse %j', (options, code, words) => {
    expect(() => resolveDispatch(options, job)).toThrow(words);
    try {
      resolveDispatch(options, job);
    } catch (error) {
      expect(hasErrorCode(error, code)).toBe(true);
    }
  });
});
