import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { cancel, NonRetriable, snooze } from '../../../src/client/outcomes.js';
import { MemoryStorage } from '../../../src/storage/memory/storage.js';
import { faultyStorage } from '../../support/faulty-storage.js';

const client = (jobs: readonly ReturnType<typeof defineJob>[] = [], options = {}): Millrace =>
  new Millrace({ database: 'memory:', jobs, killGrace: 50, ...options });

describe('runNow', () => {
  it('runs the handler by the schemas of the job, and gives back what a waiter would get', async () => {
    const job = defineJob('a', {
      input: z.object({ n: z.string().transform(Number) }),
      output: z.object({ at: z.date(), n: z.number() }).loose(),
      run: ({ input, attempt }) => ({ at: new Date(0), n: input.n + 1, attempt }),
    });
    await using millrace = new Millrace({ database: 'memory:' });
    expect(await millrace.runNow(job, { n: '4' })).toEqual({
      at: '1970-01-01T00:00:00.000Z',
      n: 5,
      attempt: 1,
    });
    await expect(millrace.runNow(job, { n: 4 } as never)).rejects.toMatchObject({ code: 'payload-invalid' });
  });

  it('never touches the storage', async () => {
    const { storage, calls } = faultyStorage(new MemoryStorage());
    const job = defineJob('a', {
      async run({ log, progress, heartbeat }) {
        log.warn('x');
        progress(1);
        return await heartbeat();
      },
    });
    const millrace = new Millrace({ database: storage });
    expect(await millrace.runNow(job)).toBe(true);
    await millrace.close();
    expect(calls).toEqual([]);
  });

  it('rejects as waiting for the result would', async () => {
    const broken = defineJob('broken', {
      run: () => {
        throw new NonRetriable('no use', { cause: new RangeError('why') });
      },
    });
    const called = defineJob('called-off', { run: () => cancel('not wanted') });
    const later = defineJob('later', { run: () => snooze('5m') });
    const wrong = defineJob('wrong', { output: z.number(), run: () => 'five' as never });
    await using millrace = client([broken, called, later, wrong]);
    await expect(millrace.runNow('broken')).rejects.toMatchObject({
      code: 'job-failed',
      details: { reason: 'non-retriable' },
      cause: { message: 'no use', cause: { name: 'RangeError' } },
    });
    await expect(millrace.runNow('called-off')).rejects.toMatchObject({ code: 'job-cancelled' });
    await expect(millrace.runNow('later')).rejects.toThrow(/run again in 5m/);
    await expect(millrace.runNow('wrong')).rejects.toMatchObject({ code: 'job-failed' });
  });

  it('ends by the timeout of the job, also when its handler ignores the signal', async () => {
    const polite = defineJob('polite', {
      timeout: 20,
      run: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const deaf = defineJob('deaf', { timeout: 20, run: () => new Promise(() => undefined) });
    await using millrace = client();
    for (const job of [polite, deaf]) {
      await expect(millrace.runNow(job)).rejects.toMatchObject({
        code: 'job-failed',
        details: { failures: [{ kind: 'timed-out' }] },
      });
    }
  });

  it('refuses a job that has no code here', async () => {
    const declared = defineJob('declared', {});
    await using millrace = client([declared]);
    await expect(millrace.runNow('declared')).rejects.toMatchObject({ code: 'handler-not-inline' });
    await expect(millrace.runNow('unknown')).rejects.toMatchObject({ code: 'job-name-unknown' });
  });

  it('dispatches for real what its handler dispatches', async () => {
    const child = defineJob('child', {});
    const parent = defineJob('parent', { run: async ({ dispatch }) => (await dispatch(child, { n: 1 })).id });
    await using millrace = client([child]);
    const id = await millrace.runNow(parent);
    expect(await millrace.job(id)).toMatchObject({ name: 'child', input: { n: 1 } });
  });
});
