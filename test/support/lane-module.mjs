/*
 * The module that process lanes load in tests. Its one kind of job does what its input says. MILLRACE_TEST_LANE_START
 * makes the load itself misbehave.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { defineJob, Millrace, NonRetriable } from 'millrace';

const megabyte = 1024 ** 2;
const kept = [];

const acts = {
  echo: ({ input }) => input,
  pid: () => process.pid,
  throw: () => {
    throw new Error('as asked');
  },
  'throw-for-good': () => {
    throw new NonRetriable('for good');
  },
  abort: () => process.abort(),
  exit: ({ input }) => process.exit(input.code ?? 0),
  segfault: () => process.kill(process.pid, 'SIGSEGV'),
  'reject-unseen': async () => {
    void Promise.reject(new Error('nobody looks'));
    await delay(60_000);
  },
  spin: ({ log }) => {
    log.info('spins');
    for (;;);
  },
  'leak-heap': () => {
    for (;;) kept.push(new Array(1_000).fill({}).map(() => ({ at: Math.random() })));
  },
  'leak-buffers': async () => {
    for (;;) {
      kept.push(Buffer.alloc(32 * megabyte, 1));
      await delay(5);
    }
  },
  big: ({ input }) => 'x'.repeat(input.bytes),
  wait: async ({ input, signal }) => {
    await delay(input.ms ?? 60_000, undefined, { signal });
    return 'waited';
  },
  'wait-deaf': () => delay(60_000),
  'wait-for-file': async ({ input }) => {
    while (!existsSync(input.file)) await delay(5);
  },
  'leave-spinner': () => {
    setTimeout(() => {
      for (;;);
    }, 1);
    return 'left';
  },
  'leave-process': () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    return child.pid;
  },
  log: ({ log, progress, input }) => {
    log.info(input.text ?? 'hello', { n: 1, big: 2n });
    progress(1, 2, 'half');
    progress(2, 2, 'whole');
  },
  heartbeat: ({ heartbeat }) => heartbeat(),
  dispatch: async ({ dispatch, input }) => (await dispatch('act', input.input, input.options ?? {})).id,
  snooze: ({ snooze }) => snooze('5m'),
  cancel: ({ cancel }) => cancel('as asked'),
  burn: ({ input }) => {
    const until = performance.now() + input.ms;
    while (performance.now() < until);
  },
  'take-memory': ({ input }) => Buffer.alloc(input.megabytes * megabyte, 1).length,
  'write-stderr': ({ input }) => {
    process.stderr.write(input.text);
    process.exit(3);
  },
};

export const act = defineJob('act', {
  lane: 'process',
  timeout: '1m',
  run: (context) => acts[context.input.do](context),
});

const misstarts = {
  throw: () => {
    throw new Error('the module can not be loaded today');
  },
  exit: () => process.exit(9),
  hang: () => new Promise(() => undefined),
  spin: () => {
    for (;;);
  },
};
await misstarts[process.env.MILLRACE_TEST_LANE_START]?.();

const millrace = new Millrace({
  database: process.env.MILLRACE_TEST_LANE_DATABASE ?? 'memory:',
  jobs: [act],
});
await millrace.worker({}).start();
throw new Error('in a lane, nothing after the start of the worker is run');
