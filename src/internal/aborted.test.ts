import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { aborted } from './aborted.js';

it('resolves when the signal fires, or at once when it has fired', async () => {
  const controller = new AbortController();
  let isDone = false;
  using wait = aborted(controller.signal);
  const waiting = wait.fired.then(() => {
    isDone = true;
  });
  await Promise.resolve();
  expect(isDone).toBe(false);
  controller.abort(new Error('reason'));
  await waiting;
  using late = aborted(controller.signal);
  await late.fired;
  expect(isDone).toBe(true);
});

it('leaves no listener behind when it is given up', () => {
  const controller = new AbortController();
  {
    using _wait = aborted(controller.signal);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
  }
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
});
