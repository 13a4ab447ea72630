import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobDefinition } from '../../../src/client/job-definition.js';
import { Millrace } from '../../../src/client/millrace.js';
import { MemoryStorage } from '../../../src/storage/memory/storage.js';

/** Dispatches by a process that has only declared the job, and runs by one that has its code and schemas. */
async function runElsewhere(job: JobDefinition, input: unknown, others: readonly JobDefinition[] = []) {
  const storage = new MemoryStorage();
  const { name, maxAttempts: attempts } = job;
  await using producer: Millrace = new Millrace({ database: storage, jobs: [defineJob(name, { attempts })] });
  await using consumer: Millrace = new Millrace({ database: storage, jobs: [job, ...others] });
  const handle = await producer.dispatch(job.name, input);
  await using worker = consumer.worker();
  await worker.start();
  const result = await handle.result({ timeout: '5s' }).catch((error: unknown) => error);
  return { result, job: await handle.job() };
}

describe('an input that the schema of the day refuses', () => {
  it('buries the job at once, whatever attempts it has left', async () => {
    let runs = 0;
    const strict = defineJob('strict', {
      attempts: 5,
      input: z.object({ n: z.number() }),
      run: () => {
        runs += 1;
      },
    });
    const { result, job } = await runElsewhere(strict, { n: 'five' });
    expect(result).toMatchObject({ code: 'job-failed', details: { reason: 'non-retriable' } });
    expect(job).toMatchObject({
      status: 'buried',
      failures: [
        {
          attempt: 1,
          kind: 'failed',
          error: { code: 'payload-invalid', message: expect.stringContaining('$.n') },
        },
      ],
    });
    expect(runs).toBe(0);
  });

  it('of a job that a handler dispatches is an ordinary failure of that handler', async () => {
    const child = defineJob('child', { input: z.object({ n: z.number() }) });
    const attempts: number[] = [];
    const parent = defineJob('parent', {
      attempts: 2,
      backoff: { type: 'fixed', base: 1 },
      run: async ({ dispatch, attempt }) => {
        attempts.push(attempt);
        await dispatch('child', { n: 'five' });
      },
    });
    const { job } = await runElsewhere(parent, null, [child]);
    expect(attempts).toEqual([1, 2]);
    expect(job).toMatchObject({ status: 'buried', reason: 'attempts-exhausted' });
  });
});

describe('a result that the output schema refuses', () => {
  it('is a failed attempt, and is not stored', async () => {
    const job = defineJob('job', { attempts: 1, output: z.number(), run: () => 'five' as never });
    const { job: seen } = await runElsewhere(job, null);
    expect(seen).toMatchObject({
      status: 'buried',
      result: undefined,
      failures: [{ error: { code: 'result-invalid' } }],
    });
  });
});
