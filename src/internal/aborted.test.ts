import { expect, it } from 'vitest';
import { aborted } from './aborted.js';

it('resolves when the signal fires, or at once when it has fired', async () => {
  const controller = new AbortController();
  let isDone = false;
  const waiting = aborted(controller.signal).then(() => {
    isDone = true;
  });
  await Promise.resolve();
  expect(isDone).toBe(false);
  controller.abort(new Error('reason'));
  await waiting;
  await aborted(controller.signal);
  expect(isDone).toBe(true);
});
