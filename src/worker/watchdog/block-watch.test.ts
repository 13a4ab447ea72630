import { describe, expect, test } from 'vitest';
import { BlockWatch } from './block-watch.js';

/** A watch whose time and pulses the test moves. */
function watched(killAfterMs: number | null = 5_000) {
  const memory = new SharedArrayBuffer(4);
  const told: string[] = [];
  let now = 0;
  const watch = new BlockWatch({
    memory,
    monotonic: () => now,
    killAfterMs,
    onBlocked: (forMs) => told.push(`blocked ${forMs}`),
    onTurning: (forMs) => told.push(`turning ${forMs}`),
    onHopeless: (forMs) => told.push(`hopeless ${forMs}`),
  });
  return {
    told,
    pulse: () => Atomics.add(new Int32Array(memory), 0, 1),
    /** Looks every 50 ms for so long. */
    pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 50) {
        now += 50;
        watch.look();
      }
    },
    /** Nothing in the process got a turn. */
    freeze(ms: number) {
      now += ms;
      watch.look();
    },
  };
}

describe('BlockWatch', () => {
  test('a loop that turns is left in peace', () => {
    const { told, pulse, pass } = watched();
    for (let n = 0; n < 100; n += 1) {
      pulse();
      pass(900);
    }
    expect(told).toEqual([]);
  });

  test('a block is told once, and its length when it is over', () => {
    const { told, pulse, pass } = watched();
    pass(3_100);
    expect(told).toEqual(['blocked 1000']);
    pulse();
    pass(50);
    expect(told).toEqual(['blocked 1000', 'turning 3000']);
    pass(1_100);
    expect(told).toHaveLength(3);
  });

  test('a loop that does not come back is given up once', () => {
    const { told, pass } = watched();
    pass(20_000);
    expect(told).toEqual(['blocked 1000', 'hopeless 5000']);
  });

  test('without a limit it is never given up', () => {
    const { told, pass } = watched(null);
    pass(1_000_000);
    expect(told).toEqual(['blocked 1000']);
  });

  test('a process that was stopped as a whole has blocked nothing', () => {
    const { told, pulse, pass, freeze } = watched();
    pulse();
    pass(200);
    for (let n = 0; n < 5; n += 1) freeze(3_600_000);
    expect(told).toEqual([]);
    pass(600);
    pulse();
    pass(50);
    expect(told).toEqual([]);
  });
});
