import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { SharedAborts } from './shared-aborts.js';

test('a signal has one listener for all its takers, and none when the last is taken back', () => {
  const aborts = new SharedAborts();
  const { signal } = new AbortController();
  const takers = Array.from({ length: 50 }, () => vi.fn());
  for (const taker of takers) aborts.add(signal, taker);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (const taker of takers) aborts.remove(signal, taker);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('each taker of the signal that fired is called once, those of others and those taken back are not', () => {
  const aborts = new SharedAborts();
  const [first, second] = [new AbortController(), new AbortController()];
  const [called, takenBack, other] = [vi.fn(), vi.fn(), vi.fn()];
  aborts.add(first.signal, called);
  aborts.add(first.signal, takenBack);
  aborts.add(second.signal, other);
  aborts.remove(first.signal, takenBack);
  first.abort();
  aborts.remove(first.signal, called);
  expect([called, takenBack, other].map((taker) => taker.mock.calls.length)).toEqual([1, 0, 0]);
});
