import { describe, expect, test } from 'vitest';
import { differences, withPart } from './partial-match.js';

describe('differences', () => {
  const got = {
    a: 1,
    list: [{ b: 'x', c: null }, 2],
    at: '2030-01-01T00:00:00.000Z',
    deep: { d: { e: true } },
  };

  test.each([
    ['nothing', {}],
    ['some properties', { a: 1, deep: { d: {} } }],
    ['parts of all items of a list', { list: [{ b: 'x' }, 2] }],
    ['a null', { list: [{ c: null }, 2] }],
    ['a date as its text', { at: new Date('2030-01-01T00:00:00Z') }],
    ['undefined for what is not there', { z: undefined, deep: { z: undefined } }],
  ])('%s is found', (_, part) => {
    expect(differences(got, part)).toEqual([]);
  });

  test.each([
    ['another value', { a: 2 }, [{ path: 'a', expected: 2, got: 1 }]],
    ['a property that is missing', { deep: { z: 1 } }, [{ path: 'deep.z', expected: 1, got: undefined }]],
    ['one that should not be there', { a: undefined }, [{ path: 'a', expected: undefined, got: 1 }]],
    ['an item', { list: [{ b: 'y' }, 2] }, [{ path: 'list[0].b', expected: 'y', got: 'x' }]],
    ['a shorter list', { list: [2] }, [{ path: 'list', expected: [2], got: got.list }]],
    ['an object for a list', { list: {} }, [{ path: 'list', expected: {}, got: got.list }]],
    ['an object for null', { list: [{ c: {} }, 2] }, [{ path: 'list[0].c', expected: {}, got: null }]],
  ])('%s is told with its place', (_, part, expected) => {
    expect(differences(got, part)).toEqual(expected);
  });

  test('values that are no objects are compared as they are', () => {
    expect(differences('a', 'a')).toEqual([]);
    expect(differences(0, -0)).toEqual([]);
    expect(differences(null, {})).toEqual([{ path: '', expected: {}, got: null }]);
  });
});

test('a value with a part in its place differs from it only there', () => {
  const got = { a: 1, list: [{ b: 'x', c: 3 }], rest: true };
  expect(withPart(got, { list: [{ b: 'y' }] })).toEqual({ a: 1, list: [{ b: 'y', c: 3 }], rest: true });
  expect(withPart(undefined, { a: [1] })).toEqual({ a: [1] });
});
