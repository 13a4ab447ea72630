import { expect, it } from 'vitest';
import { parsePriority } from './priority.js';

it.each([
  ['low', -10],
  ['normal', 0],
  ['high', 10],
  ['urgent', 20],
  [-100, -100],
  [100, 100],
  [-0, 0],
  ['15', 15],
  ['-7', -7],
])('reads %j as %d', (value, priority) => {
  expect(parsePriority(value)).toBe(priority);
});

it.each([101, -101, 1.5, Number.NaN, 'High', 'toString', '', '1e1', '1000', null, undefined, {}])(
  'refuses %j',
  (value) => {
    expect(() => parsePriority(value)).toThrowError(
      expect.objectContaining({ code: 'option-invalid', message: expect.stringContaining("'urgent'") }),
    );
  },
);
