import { describe, expect, it } from 'vitest';
import { formatQueueSelection, isServed, parseQueueSelection, servedQueues } from './queue-selection.js';

it.each([
  ['critical,default,low', ['critical', 'default', 'low']],
  [' a , b ', ['a', 'b']],
  ['tenant:a', ['tenant:a']],
  [
    ['x', 'y:z'],
    ['x', 'y:z'],
  ],
])('reads %j in strict order', (value, queues) => {
  expect(parseQueueSelection(value)).toEqual({ order: 'strict', queues });
});

it.each([
  [
    'a:6,b:3,c:1',
    [
      ['a', 6],
      ['b', 3],
      ['c', 1],
    ],
  ],
  [
    ['a:6', ' b:3 '],
    [
      ['a', 6],
      ['b', 3],
    ],
  ],
  ['tenant:7:1', [['tenant:7', 1]]],
])('reads %j as shares', (value, shares) => {
  const expected = (shares as [string, number][]).map(([queue, weight]) => ({ queue, weight }));
  expect(parseQueueSelection(value)).toEqual({ order: 'shares', shares: expected });
});

it.each([
  ['*', []],
  ['*,!reports', ['reports']],
  ['!reports, !mail', ['reports', 'mail']],
  [['*', '!reports'], ['reports']],
])('reads %j as all queues but some', (value, except) => {
  expect(parseQueueSelection(value)).toEqual({ order: 'all', except });
});

it.each([
  ['', /queue names of/],
  ['a,,b', /queue names of/],
  ['a,b,a', /"a" is named twice/],
  ['a:1,a:2', /"a" is named twice/],
  ['critical:6,default', /"critical" has a share and "default" has none/],
  ['critical:6', /share of a single queue.*"critical:6:1"/],
  ['a:0,b:1', /share of "a": expected a whole number from 1 to 1000, got 0/],
  ['a:1001,b:1', /share of "a"/],
  ['*,a', /"\*" stands for all queues, so "a" can't stand beside it/],
  ['a,!b', /exception such as "!reports" is one from all queues, so "a"/],
  ['*:2,a:1', /queue names of/],
  ['*,!', /queue names of/],
  ['*,*', /"\*" is named twice/],
  ['*,!a,!a', /"a" is named twice/],
  [[], /at least one/],
  [['a b'], /queue names of/],
  [[3], /texts/],
  [{ order: 'strict', queues: [] }, /expected \{ order/],
  [{ order: 'shares', shares: [{ queue: 'a', weight: 0.5 }] }, /share of "a"/],
  [{ order: 'random' }, /"random"/],
  [7, /expected critical,default/],
])('refuses %j', (value, message) => {
  expect(() => parseQueueSelection(value)).toThrowError(
    expect.objectContaining({ code: 'queue-name-invalid', message: expect.stringMatching(message) }),
  );
});

it('takes every name as it is in the parsed form', () => {
  const selection = { order: 'strict', queues: ['tenant:7', 'x'] } as const;
  expect(parseQueueSelection(selection)).toEqual(selection);
});

it.each(['a,b', 'a:6,b:3', '*', '*,!a,!b'])('writes %j as it was read', (text) => {
  expect(formatQueueSelection(parseQueueSelection(text))).toBe(text);
});

describe('what a worker tells it serves', () => {
  it('is the names of strict lists and shares', () => {
    expect(servedQueues(parseQueueSelection('a:6,b:3'))).toEqual(['a', 'b']);
    expect(isServed(['a', 'b'], 'b')).toBe(true);
    expect(isServed(['a', 'b'], 'c')).toBe(false);
  });

  it('is everything but the exceptions for all queues', () => {
    const served = servedQueues(parseQueueSelection('!slow'));
    expect(isServed(served, 'any')).toBe(true);
    expect(isServed(served, 'slow')).toBe(false);
  });
});
