import { expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import type { Logger } from '../../src/internal/logger.js';
import { openEngine } from '../support/engines.js';
import { faultyStorage } from '../support/faulty-storage.js';

const fail = (): never => {
  throw new Error('the disk of the log is full');
};

/** Telemetry never ends a job or a worker, whatever the logger of the application does. */
for (const [what, logger] of [
  ['throws', { debug: fail, info: fail, warn: fail, error: fail }],
  ['rejects', rejecting()],
] as const) {
  test(`[memory] a logger that ${what} costs its lines and nothing else`, async () => {
    await using engine = await openEngine('memory');
    const faulty = faultyStorage(engine.storage);
    faulty.fail('exchange', ['before', 'after']);
    faulty.fail('claim', ['before', 'after']);
    const talk = defineJob('talk', {
      attempts: 1,
      run: ({ log, progress }) => {
        log.info('a line', { part: 1 });
        log.error('another');
        progress(1, 2);
        return 'done';
      },
    });
    const stubborn = defineJob('stubborn', {
      attempts: 1,
      timeout: '100ms',
      run: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => setTimeout(resolve, 300))),
    });
    await using millrace = new Millrace({
      database: faulty.storage,
      jobs: [talk, stubborn],
      logger,
      killGrace: '50ms',
    });
    millrace.on('job:completed', fail);
    await using worker = millrace.worker();
    await worker.start();
    const talked = await millrace.dispatch(talk, {});
    expect(await talked.result({ timeout: '5s' })).toBe('done');
    const ignored = await millrace.dispatch(stubborn, {});
    await expect(ignored.result({ timeout: '5s' })).rejects.toMatchObject({ code: 'job-failed' });
    await worker.stop();
    expect(worker.lifecycle).toBe('EXIT');
  });
}

function rejecting(): Logger {
  const reject = (() => Promise.reject(new Error('the log server is away'))) as () => void;
  return { debug: reject, info: reject, warn: reject, error: reject };
}

test('[memory] what a handler logs may be anything', async () => {
  const odd = defineJob('odd', {
    attempts: 1,
    run: ({ log, progress }) => {
      const hostile = { toString: fail, toJSON: fail };
      const cyclic: Record<string, unknown> = {};
      cyclic['self'] = cyclic;
      log.info(hostile as never);
      log.info(Symbol('s') as never);
      log.info(undefined as never, { hostile, cyclic, big: 1n, when: new Date(Number.NaN) });
      log.info('fields', null as never);
      progress(Number.NaN, Number.POSITIVE_INFINITY, 2n as never);
      progress('much' as never, undefined, hostile as never);
      return 'done';
    },
  });
  await using millrace = new Millrace({ database: 'memory:', jobs: [odd] });
  await using worker = millrace.worker();
  await worker.start();
  const handle = await millrace.dispatch(odd, {});
  expect(await handle.result({ timeout: '5s' })).toBe('done');
});
