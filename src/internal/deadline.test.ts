import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withDeadline } from './deadline.js';

describe('withDeadline', () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => {
    unhandled.push(error);
  };
  beforeEach(() => {
    vi.useFakeTimers();
    unhandled.length = 0;
    process.on('unhandledRejection', note);
  });
  afterEach(async () => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('hands on the value or the error of the promise and clears its timer', async () => {
    await expect(withDeadline(Promise.resolve(7), { ms: 1000, name: 'x' })).resolves.toBe(7);
    await expect(withDeadline(Promise.reject(new Error('no')), { ms: 1000, name: 'x' })).rejects.toThrow(
      'no',
    );
  });

  it('names what was not done in time', async () => {
    const waiting = withDeadline(new Promise(() => undefined), { ms: 30_000, name: 'first answer' });
    const seen = expect(waiting).rejects.toMatchObject({
      code: 'deadline-exceeded',
      message: 'first answer: not done within 30s',
      details: { name: 'first answer', deadlineMs: 30_000 },
    });
    await vi.advanceTimersByTimeAsync(30_000);
    await seen;
  });

  it('swallows what the loser rejects with later', async () => {
    const { promise, reject } = deferred();
    const seen = expect(withDeadline(promise, { ms: 10, name: 'x' })).rejects.toMatchObject({
      code: 'deadline-exceeded',
    });
    await vi.advanceTimersByTimeAsync(10);
    await seen;
    reject(new Error('too late'));
  });

  it('gives up when its signal is aborted, before or while it waits', async () => {
    const reason = new Error('stopping');
    const never = new Promise<never>(() => undefined);
    await expect(
      withDeadline(never, { ms: 1000, name: 'x', signal: AbortSignal.abort(reason) }),
    ).rejects.toMatchObject({ code: 'aborted', cause: reason });
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    const seen = expect(
      withDeadline(never, { ms: 1000, name: 'x', signal: controller.signal }),
    ).rejects.toMatchObject({ code: 'aborted', cause: reason });
    controller.abort(reason);
    await seen;
    expect(removed).toHaveBeenCalled();
  });
});

function deferred(): { promise: Promise<never>; reject: (error: unknown) => void } {
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<never>((_, fail) => {
    reject = fail;
  });
  return { promise, reject };
}
