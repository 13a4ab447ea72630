import { expect, it } from 'vitest';
import { parseQueueName } from './queue-name.js';

it.each(['default', 'a', 'A-1_b.c:d', 'x'.repeat(100)])('takes %j', (name) => {
  expect(parseQueueName(name)).toBe(name);
});

it.each(['', 'x'.repeat(101), 'a b', 'a,b', 'a/b', 'ä', 'a\n', "a'", 5, null, undefined])(
  'refuses %j',
  (name) => {
    expect(() => parseQueueName(name)).toThrowError(expect.objectContaining({ code: 'queue-name-invalid' }));
  },
);
