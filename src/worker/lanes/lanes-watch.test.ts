import { expect, it } from 'vitest';
import type { LaneSizes } from '../../core/lane-sizing.js';
import { LanesWatch } from './lanes-watch.js';

const sizes: LaneSizes = { process: 2, browser: 0, inline: 10, cap: null, text: 'lanes: 2; inline 10' };

it('tells once that the machine has changed since the lanes were made, and once that it is as before', () => {
  const lines: string[] = [];
  const say = (message: string): void => void lines.push(message);
  const machine = { nowMs: 0, sizes, looks: 0 };
  const watch = new LanesWatch({
    sizes,
    sizesNow: () => {
      machine.looks += 1;
      return machine.sizes;
    },
    logger: { debug: say, info: say, warn: say, error: say },
    now: () => machine.nowMs,
  });
  const minutes = (count: number): void => {
    for (let second = 0; second < count * 60; second += 1) {
      machine.nowMs += 1_000;
      watch.tick();
    }
  };
  minutes(3);
  expect(machine.looks).toBe(3);
  machine.sizes = { ...sizes, text: 'lanes: 2 (of a little more); inline 10' };
  minutes(1);
  expect([lines, watch.next]).toEqual([[], null]);
  machine.sizes = { ...sizes, process: 1, text: 'lanes: 1; inline 10' };
  minutes(3);
  expect(watch.next).toBe('lanes: 1; inline 10');
  machine.sizes = sizes;
  minutes(3);
  expect(watch.next).toBeNull();
  expect(lines).toEqual([
    'lanes: 1; inline 10, from the next start on: the machine has changed since the lanes were made',
    'the machine again has what the lanes were made for: lanes: 2; inline 10',
  ]);
});
