import { expect, it } from 'vitest';
import { nearestName } from './nearest-name.js';

it.each([
  ['priorty', 'priority'],
  ['PRIORITY', 'priority'],
  ['delya', 'delay'],
  ['zzz', undefined],
  ['', undefined],
])('takes %j for %j', (name, nearest) => {
  expect(nearestName(name, ['priority', 'delay', 'queue'])).toBe(nearest);
});
