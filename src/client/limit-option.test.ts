import { describe, expect, it } from 'vitest';
import { defineJob } from './define-job.js';
import { limitOf } from './limit-option.js';

const keyed = (key: string | null | ((input: never) => string)) =>
  limitOf('mail', { group: 'g', max: 2, key }, { tenant: 't-7' });

describe('the limit of a job', () => {
  it('is what its definition says', () => {
    const { limit, cost, requires } = defineJob('mail', {
      limit: { group: 'smtp', max: 5 },
      cost: 3,
      requires: ['gpu', 'eu'],
    });
    expect({ limit, cost, requires }).toEqual({
      limit: { group: 'smtp', max: 5, key: null },
      cost: 3,
      requires: ['eu', 'gpu'],
    });
    expect(defineJob('mail', { limit: { group: 'smtp' } }).limit?.max).toBeNull();
    expect(defineJob('mail', {})).toMatchObject({ limit: null, cost: 1, requires: [] });
  });

  it.each([
    { limit: 'smtp' },
    { limit: {} },
    { limit: { group: 'smtp', max: 1.5 } },
    { limit: { group: 'smtp', key: 7 } },
    { limit: { group: 'smtp', keys: 'a' } },
    { cost: 0 },
    { cost: '3' },
    { requires: ['a b'] },
  ])('refuses %j', (options) => {
    expect(() => defineJob('mail', options as never)).toThrow(/expected|no option/);
  });

  it('has a key that is a text or worked out of the input', () => {
    expect(keyed(null)).toEqual({ group: 'g', max: 2, key: null });
    expect(keyed('a').key).toBe('a');
    expect(keyed(({ tenant }: { tenant: string }) => tenant).key).toBe('t-7');
    expect(() => keyed(() => undefined as never)).toThrow('limit key of job "mail"');
    expect(() => keyed(() => '')).toThrow('limit key of job "mail"');
  });

  it('keeps keys as they are, and those that no database would as a hash', () => {
    expect(keyed('Müller & Söhne').key).toBe('Müller & Söhne');
    expect(keyed('x'.repeat(191)).key).toHaveLength(191);
    for (const key of ['x'.repeat(192), 'a\0b', '\ud800', 'line\nbreak', 'h|a']) {
      expect(keyed(key).key).toMatch(/^h\|[0-9a-f]{64}$/);
    }
  });
});
