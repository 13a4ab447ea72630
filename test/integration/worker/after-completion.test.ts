import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { silentLogger } from '../../../src/internal/logger.js';
import { openEngine } from '../../support/engines.js';

describe('[memory] worker: what follows a completed job', () => {
  it('a listener that fails makes no job run again, and keeps nothing from what waits for it', async () => {
    await using engine = await openEngine('memory');
    const ran: string[] = [];
    const job = defineJob('step', {
      run: ({ input }: { input: { name: string } }) => void ran.push(input.name),
    });
    await using millrace = new Millrace({ database: engine.storage, jobs: [job], logger: silentLogger });
    let told = 0;
    millrace.on('job:completed', () => {
      told += 1;
      throw new Error('as planted');
    });
    millrace.on('job:completed', () => Promise.reject(new Error('as planted')));
    const first = await millrace.dispatch(job, { name: 'first' });
    const second = await millrace.dispatch(job, { name: 'second' }, { after: [first.id] });
    await using worker = millrace.worker();
    await worker.start();
    await second.result({ timeout: '10s' });
    await worker.idle();
    expect(ran).toEqual(['first', 'second']);
    expect(told).toBe(2);
    expect(await first.job()).toMatchObject({ status: 'completed', attempts: 0, deaths: 0 });
  });
});
