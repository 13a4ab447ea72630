import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inexactNumber, jsonErrorIndex } from './json-position.js';

test.each([
  ['', 0],
  ['hello', 0],
  ['{"a": tru}', 6],
  ['{"a" 1}', 5],
  ['{a: 1}', 1],
  ['[1,]', 3],
  ['{"a":1,}', 7],
  ['[1 2]', 3],
  ['{"a":1', 6],
  ['"open', 0],
  ['01', 0],
  ['[1}', 2],
  ['1 2', 2],
  ['{"a":\n  nope}', 8],
  ["{'a':1}", 1],
  ['"a\u0001b"', 0],
])('%j breaks at %i', (text, index) => {
  expect(jsonErrorIndex(text)).toBe(index);
});

test('a text is JSON exactly when the engine says so, however it was damaged', () => {
  const damaged = fc
    .tuple(
      fc.jsonValue(),
      fc.nat(),
      fc.constantFrom('', '{', '}', '[', ']', ',', ':', '"', '1', 'e', '-', ' ', '\\'),
    )
    .map(([value, at, piece]) => {
      const text = JSON.stringify(value);
      const index = at % (text.length + 1);
      return text.slice(0, index) + piece + text.slice(index + (at % 2));
    });
  fc.assert(
    fc.property(damaged, (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(jsonErrorIndex(text) === null).toBe(isJson);
    }),
    { numRuns: 2000 },
  );
});

test('a long text is looked through in linear time', () => {
  const text = `[${'{"a":[1,2,3]},'.repeat(50_000)}`;
  const from = performance.now();
  expect(jsonErrorIndex(text)).toBe(text.length);
  expect(performance.now() - from).toBeLessThan(2000);
});

test.each([
  ['{"a": 9007199254740993}', 6, '9007199254740993'],
  ['["9007199254740993", -9007199254740993]', 21, '-9007199254740993'],
  ['[1e400]', 1, '1e400'],
])('%s has a number that would not survive', (json, index, text) => {
  expect(inexactNumber(json)).toEqual({ index, text });
});

test.each(['9007199254740991', '1.5e300', '{"9007199254740993": "\\"9007199254740993"}', '-0.1'])(
  '%s is kept as it is',
  (json) => {
    expect(inexactNumber(json)).toBeNull();
  },
);
