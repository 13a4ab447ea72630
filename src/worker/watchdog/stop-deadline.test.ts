import { expect, it } from 'vitest';
import { StopDeadline } from './stop-deadline.js';

function deadline(isBlocked: boolean) {
  const state = { nowMs: 0, isBlocked };
  const late: string[] = [];
  const watched = new StopDeadline({
    timeoutMs: 25_000,
    withinMs: 29_500,
    monotonic: () => state.nowMs,
    isBlocked: () => state.isBlocked,
    onTooLate: (signal, sinceMs) => late.push(`${signal} ${sinceMs}`),
  });
  const at = (ms: number): string[] => {
    state.nowMs = ms;
    watched.look();
    return late;
  };
  return { watched, state, at, [Symbol.dispose]: () => watched[Symbol.dispose]() };
}

it('waits for no signal', () => {
  using it = deadline(true);
  expect(it.at(1e9)).toEqual([]);
});

it('ends a blocked process when the stop timeout is over, and tells it once', () => {
  using it = deadline(true);
  it.watched.hear('SIGTERM');
  expect(it.at(24_999)).toEqual([]);
  expect(it.at(25_000)).toEqual(['SIGTERM 25000']);
  expect(it.at(99_000)).toEqual(['SIGTERM 25000']);
});

it('leaves a loop that turns the time to put its jobs back', () => {
  using it = deadline(false);
  it.watched.hear('SIGTERM');
  expect(it.at(34_499)).toEqual([]);
  it.state.isBlocked = true;
  expect(it.at(34_499)).toEqual(['SIGTERM 34499']);
  using other = deadline(false);
  other.watched.hear('SIGINT');
  expect(other.at(34_500)).toEqual(['SIGINT 34500']);
});
