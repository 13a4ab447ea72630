import { expect, it } from 'vitest';
import { parseQueueList } from './queue-list.js';

it.each([
  ['critical,default,low', ['critical', 'default', 'low']],
  [' a , b ', ['a', 'b']],
  ['tenant:a', ['tenant:a']],
  [
    ['x', 'y:6'],
    ['x', 'y:6'],
  ],
])('reads %j in strict order', (value, queues) => {
  expect(parseQueueList(value)).toEqual({ order: 'strict', queues });
});

it.each([
  ['', /queue name/],
  ['a,,b', /queue name/],
  ['a,b,a', /"a" is named twice/],
  ['critical:6,default:3', /weights are not supported in this version/],
  [[], /at least one/],
  [['a b'], /queue name/],
])('refuses %j', (value, message) => {
  expect(() => parseQueueList(value)).toThrowError(
    expect.objectContaining({ code: 'queue-name-invalid', message: expect.stringMatching(message) }),
  );
});
