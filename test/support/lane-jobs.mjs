/* The jobs of the tests of process lanes: each does what its input says. */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { defineJob, NonRetriable } from 'millrace';
import { inUserTransaction } from './lane-user-database.mjs';

const megabyte = 1024 ** 2;
const kept = [];

const acts = {
  echo: ({ input }) => input,
  'keep-file': async ({ files, input }) => {
    const { id, sha256 } = await files.put('kept.bin', Buffer.alloc(input.bytes, 7));
    let bytes = 0;
    for await (const part of (await files.get(id)).content) bytes += part.length;
    return { sha256, bytes, names: (await files.list()).map(({ name }) => name) };
  },
  'keep-and-die': async ({ files }) => {
    await files.put('first.txt', 'kept before it died');
    const endless = async function* () {
      yield Buffer.alloc(300_000);
      process.kill(process.pid, 'SIGKILL');
      await delay(60_000);
    };
    await files.put('second.bin', endless());
  },
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
    log.info('spins', { lanePid: process.pid });
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
  'write-temp': async ({ input, log }) => {
    writeFileSync(join(tmpdir(), 'left-behind'), 'x');
    log.info(tmpdir(), { lanePid: process.pid });
    await acts[input.after]?.({ input, log });
    return tmpdir();
  },
  big: ({ input }) => 'x'.repeat(input.bytes),
  wait: async ({ input, signal, log }) => {
    log.info('waits', { lanePid: process.pid });
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
  'leave-process-and-spin': ({ log }) => {
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    log.info('spins', { lanePid: process.pid });
    for (;;);
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
  settle: async ({ input, settleIn, settleInSync }) => {
    await inUserTransaction(process.env.MILLRACE_TEST_LANE_DATABASE, input, ({ tx, isSync }) =>
      isSync ? settleInSync(tx, input.value) : settleIn(tx, input.value),
    );
    return await acts[input.after]?.({ input, log: { info: () => undefined } });
  },
  'write-stderr': ({ input }) => {
    process.stderr.write(input.text);
    process.exit(3);
  },
};

const options = { timeout: '1m', backoff: { type: 'fixed', base: 50, jitter: false } };
const run = (context) => acts[context.input.do](context);

/** In a process lane. */
export const act = defineJob('act', { ...options, lane: 'process', run });
/** The same with a short time limit. */
export const actBriefly = defineJob('act-briefly', {
  ...options,
  lane: 'process',
  timeout: 400,
  attempts: 1,
  run,
});
/** With time enough for a driver to be loaded and a transaction to be committed on a busy machine. */
export const actSoon = defineJob('act-soon', {
  ...options,
  lane: 'process',
  timeout: '10s',
  attempts: 1,
  run,
});
/** Beside them, in the worker. */
export const actInline = defineJob('act-inline', { ...options, run });
