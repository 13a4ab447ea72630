import { describe, expect, it } from 'vitest';
import { storableKey, uniqueKeyOf } from './unique-option.js';

const byInput = { key: null, scope: 'active', periodMs: 0 } as const;
const keyed = (key: string | ((input: never) => string)) => ({ ...byInput, key });

describe('unique keys', () => {
  it('by input do not depend on the order of keys, at any depth', () => {
    const one = uniqueKeyOf('a', byInput, { x: 1, y: { p: [1, { q: 2, r: 3 }] } });
    const other = uniqueKeyOf('a', byInput, { y: { p: [1, { r: 3, q: 2 }] }, x: 1 });
    expect(other).toEqual(one);
  });

  it('by input differ by job name, by value and by the order of arrays', () => {
    const keys = [
      uniqueKeyOf('a', byInput, { x: [1, 2] }),
      uniqueKeyOf('b', byInput, { x: [1, 2] }),
      uniqueKeyOf('a', byInput, { x: [2, 1] }),
      uniqueKeyOf('a', byInput, { x: '1,2' }),
    ].map(({ key }) => key);
    expect(new Set(keys).size).toBe(4);
  });

  it('fit their column whatever the name and the key', () => {
    const name = 'n'.repeat(100);
    for (const key of ['short', 'k'.repeat(5000), 'emoji 🙂', 'nul \0', 'lone \ud800']) {
      const stored = uniqueKeyOf(name, keyed(key), {}).key;
      expect(stored.length).toBeLessThanOrEqual(191);
      expect(stored).toMatch(/^[\x20-\x7e]+$/);
    }
    expect(uniqueKeyOf(name, byInput, {}).key.length).toBeLessThanOrEqual(191);
  });

  it('of one job can not meet those of another', () => {
    expect(uniqueKeyOf('a', keyed('b:c'), {}).key).not.toBe(uniqueKeyOf('a:b', keyed('c'), {}).key);
    expect(storableKey('k|a|', 'x'.repeat(300))).not.toBe(storableKey('k|b|', 'x'.repeat(300)));
  });

  it('can be a function of the input, which must answer a text', () => {
    expect(
      uniqueKeyOf(
        'a',
        keyed((input: { n: number }) => `n${input.n}`),
        { n: 5 },
      ).key,
    ).toBe('k|a|n5');
    expect(() =>
      uniqueKeyOf(
        'a',
        keyed(() => ''),
        {},
      ),
    ).toThrow('unique key of job "a"');
  });
});
