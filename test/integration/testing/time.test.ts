import { describe, expect, test } from 'vitest';
import { cancel, defineJob, type JobContext, NonRetriable, snooze } from '../../../src/index.js';
import { createTestKit } from '../../../src/testing/index.js';

const minute = 60_000;
const day = 1_440 * minute;

describe('time in a test kit [memory]', () => {
  test('a delay of a day and three retries take milliseconds', async () => {
    const startedAtMs = performance.now();
    const attempts: number[] = [];
    const remind = defineJob('remind', {
      attempts: 4,
      backoff: { type: 'exponential', base: '1h', max: '1d' },
      run({ attempt }) {
        attempts.push(attempt);
        if (attempt < 4) throw new Error(`attempt ${attempt} fails`);
        return 'sent';
      },
    });
    await using kit = await createTestKit({ jobs: [remind] });
    const handle = await kit.millrace.dispatch(remind, {}, { delay: '1d' });
    expect((await kit.runUntilIdle()).runs).toEqual([]);

    await kit.advance('1d');
    const first = await kit.runUntilIdle();
    expect(first).toMatchObject({ completed: 0, retrying: 1 });
    expect(first.nextDueAt).toEqual(new Date(kit.now().getTime() + 60 * minute));
    for (const wait of ['1h', '2h', '4h']) {
      await kit.advance(wait);
      await kit.runUntilIdle();
    }

    expect(attempts).toEqual([1, 2, 3, 4]);
    expect(await handle.result()).toBe('sent');
    // Generous: it is some 30 ms on a machine that has nothing else to do.
    expect(performance.now() - startedAtMs).toBeLessThan(3_000);
  });

  test('the clock stands still, and a minute early is too early', async () => {
    const job = defineJob('job', { run: () => undefined });
    await using kit = await createTestKit({ jobs: [job], now: '2030-01-31T08:00:00Z' });
    await kit.millrace.dispatch(job, {}, { runAt: '2030-02-01T08:00:00Z' });
    await kit.advance(day - minute);
    expect(kit.now()).toEqual(new Date('2030-02-01T07:59:00Z'));
    expect(await kit.runUntilIdle()).toMatchObject({ runs: [], nextDueAt: new Date('2030-02-01T08:00:00Z') });
    await kit.advance(minute);
    expect(await kit.runUntilIdle()).toMatchObject({ completed: 1, nextDueAt: null });
  });

  test('a unique period passes with the clock', async () => {
    const report = defineJob('report', { run: () => undefined });
    await using kit = await createTestKit({ jobs: [report] });
    const unique = { key: 'daily', period: '1d' };
    const first = await kit.millrace.dispatch(report, {}, { unique });
    expect((await kit.millrace.dispatch(report, {}, { unique })).id).toBe(first.id);
    await kit.advance('1d');
    expect((await kit.millrace.dispatch(report, {}, { unique })).deduplicated).toBe(false);
    expect(kit.dispatched(report)).toHaveLength(2);
  });

  test('time that passes runs each job when it is due, and tells handlers the right time', async () => {
    await using kit = await createTestKit({ jobs: [tick()], now: '2030-01-01T00:00:00Z' });
    const seen: string[] = [];
    function tick() {
      return defineJob('tick', {
        async run({ input, dispatch }: JobContext<{ left: number }>) {
          seen.push(kit.now().toISOString());
          if (input.left > 0) await dispatch('tick', { left: input.left - 1 }, { delay: '12h' });
        },
      });
    }
    await kit.millrace.dispatch('tick', { left: 10 });
    const report = await kit.runFor('1d');
    expect(seen).toEqual([
      '2030-01-01T00:00:00.000Z',
      '2030-01-01T12:00:00.000Z',
      '2030-01-02T00:00:00.000Z',
    ]);
    expect(report).toMatchObject({ completed: 3, nextDueAt: new Date('2030-01-02T12:00:00Z') });
    expect(kit.now()).toEqual(new Date('2030-01-02T00:00:00Z'));
  });

  test('a worker of the test itself hears of a clock that was moved', async () => {
    const job = defineJob('job', { run: () => 'done' });
    await using kit = await createTestKit({ jobs: [job], workerSleep: '1h' });
    // It would find out by itself within a second: that it shall not have to.
    kit.failStorage('peek', new Array<'before'>(100).fill('before'));
    await using worker = kit.millrace.worker();
    await worker.start();
    const handle = await kit.millrace.dispatch(job, {}, { delay: '1d' });
    await worker.idle();
    await kit.advance('1d');
    expect(await handle.result({ timeout: '5s' })).toBe('done');
  });
});

describe('what a test kit ran [memory]', () => {
  test('each attempt is told with its outcome', async () => {
    const jobs = [
      defineJob('good', { run: ({ input }: JobContext<number>) => ({ doubled: input * 2 }) }),
      defineJob('later', { run: () => snooze('1h') }),
      defineJob('off', { run: () => cancel('not needed') }),
      defineJob('bad', {
        run() {
          throw new NonRetriable('never');
        },
      }),
    ] as const;
    await using kit = await createTestKit({ jobs });
    for (const { name } of jobs) await kit.millrace.dispatch(name, 21);
    const report = await kit.runUntilIdle({ concurrency: 1 });
    expect(report.runs.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['good', 'completed'],
      ['later', 'snoozed'],
      ['off', 'cancelled'],
      ['bad', 'buried'],
    ]);
    expect(report).toMatchObject({ completed: 1, snoozed: 1, cancelled: 1, buried: 1, retrying: 0 });
    const [good, later, off, bad] = report.runs;
    expect(good?.result).toEqual({ doubled: 42 });
    expect(later?.dueAt).toEqual(new Date(kit.now().getTime() + 60 * minute));
    expect(off?.reason).toBe('not needed');
    expect(bad?.failure).toMatchObject({ name: 'NonRetriable', message: 'never' });
    expect(() => report.expectNoFailures()).toThrow(/1 of 4 did:\n {2}bad .*attempt 1, buried: .*never/s);
  });

  test('what handlers dispatch is run too, whatever queue it goes to, and dependents after their parents', async () => {
    const order: string[] = [];
    const run = ({ job }: JobContext<unknown>): void => void order.push(job.name);
    const parent = defineJob('parent', {
      async run(context) {
        run(context);
        const child = await context.dispatch('child', {}, { queue: 'a-new-one' });
        await context.dispatch('last', {}, { after: child });
      },
    });
    const jobs = [parent, defineJob('child', { run }), defineJob('last', { run })] as const;
    await using kit = await createTestKit({ jobs });
    await kit.millrace.dispatch(parent, {});
    const report = await kit.runUntilIdle();
    report.expectNoFailures();
    expect(order).toEqual(['parent', 'child', 'last']);
  });

  test('queues named first go first, paused ones wait', async () => {
    const order: string[] = [];
    const job = defineJob('job', { run: ({ job: { queue } }) => void order.push(queue) });
    await using kit = await createTestKit({ jobs: [job] });
    for (const queue of ['a', 'b', 'c']) await kit.millrace.dispatch(job, {}, { queue });
    await kit.millrace.pause('b');
    await kit.runUntilIdle({ queues: ['c'], concurrency: 1 });
    expect(order).toEqual(['c', 'a']);
  });

  test('jobs whose code is elsewhere are named', async () => {
    const elsewhere = defineJob('elsewhere', {});
    await using kit = await createTestKit({ jobs: [elsewhere, defineJob('here', { run: () => 1 })] });
    await kit.millrace.dispatch(elsewhere, {});
    await kit.millrace.dispatch('here', {});
    expect(await kit.runUntilIdle()).toMatchObject({ completed: 1, unhandled: ['elsewhere'] });
  });

  test('a handler that never ends is named when the time is over, and its job goes back', async () => {
    const hanging = defineJob('hanging', { run: () => new Promise(() => undefined) });
    await using kit = await createTestKit({ jobs: [hanging], killGrace: '10ms' });
    const { id } = await kit.millrace.dispatch(hanging, {});
    await expect(kit.runUntilIdle({ timeout: '100ms' })).rejects.toThrow(
      new RegExp(`not idle after 100ms of real time; still running: hanging \\(${id}\\)`),
    );
    expect(await kit.millrace.job(id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('jobs that make each other for ever are counted when the time is over', async () => {
    const again = defineJob('again', {
      async run({ dispatch }) {
        await dispatch('again', {});
      },
    });
    await using kit = await createTestKit({ jobs: [again] });
    await kit.millrace.dispatch(again, {});
    await expect(kit.runUntilIdle({ timeout: '200ms' })).rejects.toThrow(/attempts that ended: again × \d+/);
  });

  test('two runs at once do not share what is due', async () => {
    const job = defineJob('job', { run: () => 1 });
    await using kit = await createTestKit({ jobs: [job] });
    await kit.millrace.dispatch(job, {});
    const [first, second] = await Promise.all([kit.runUntilIdle(), kit.runUntilIdle()]);
    expect([first.completed, second.completed]).toEqual([1, 0]);
  });

  test('the environment of the machine has no say', async () => {
    process.env['MILLRACE_ATTEMPTS'] = '7';
    try {
      await using kit = await createTestKit({ jobs: [defineJob('job', { run: () => 1 })] });
      await kit.millrace.dispatch('job', {});
      expect(kit.expectDispatched('job').maxAttempts).toBe(3);
    } finally {
      delete process.env['MILLRACE_ATTEMPTS'];
    }
  });
});
