import { expect, test } from 'vitest';
import { resolveWorkerOptions, type WorkerOptions } from './worker-options.js';

const resolve = (options: object) =>
  resolveWorkerOptions(options as WorkerOptions, { stopTimeoutMs: 25_000 });

test('everything that is wrong with a worker’s options is told at once, with what was meant', () => {
  expect(() =>
    resolve({
      queue: 'mail',
      queues: 5,
      concurrency: 5000,
      duties: 1,
      stopTimeout: 'soon',
      module: './app.ts',
      processLanes: 'all',
      labels: ['a b'],
    }),
  ).toThrow(
    expect.objectContaining({
      code: 'option-invalid',
      details: {
        problems: [
          'there is no option "queue". Did you mean "queues"?',
          'option "concurrency": expected a whole number from 1 to 1000, got 5000',
          'option "duties": expected true or false, got 1',
          expect.stringMatching(/^queue list: expected .*, got 5$/),
          expect.stringMatching(/^option "stopTimeout": expected/),
          'option "module": expected the address of a file, such as import.meta.url, got "./app.ts"',
          'option "processLanes": expected auto, or a whole number from 0 to 64, got "all"',
          'option "labels": expected 1 to 100 of the letters A-Z a-z, digits and _ . : -, got "a b"',
        ],
      },
    }),
  );
});

test('options that are right are filled up', () => {
  expect(resolve({ queues: 'a, b', stopTimeout: '1m' })).toEqual({
    queues: { order: 'strict', queues: ['a', 'b'] },
    concurrency: 10,
    stopTimeoutMs: 60_000,
    duties: true,
    module: null,
    processLanes: 'auto',
    browserLanes: 0,
    stateDir: null,
    recycleAfterJobs: null,
    labels: [],
    hub: null,
  });
  expect(resolve({ labels: 'gpu,eu' }).labels).toEqual(['eu', 'gpu']);
  expect(resolve({ module: new URL('file:///app/main.js'), processLanes: 3 })).toMatchObject({
    module: 'file:///app/main.js',
    processLanes: 3,
  });
  expect(resolve({ module: '/app/a b.js' }).module).toBe('file:///app/a%20b.js');
});
