import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { monotonicMs } from '../../../src/worker/monotonic.js';
import { runUntilIdle } from '../../../src/worker/run-until-idle.js';
import { claimOf } from '../../support/claim-request.js';
import { openEngine, type TestEngine } from '../../support/engines.js';

const minuteMs = 60_000;

/** One job for a worker that no longer is there. */
const claimBy = (worker: number, names: readonly string[], start: number) =>
  claimOf({
    token: `${String(worker).padStart(16, '0')}${'0'.repeat(15)}1`,
    workerId: `gone-${worker}`,
    leaseMs: 45_000,
    queues: ['default'],
    names,
    limit: 1,
    start,
    alone: false,
  });

/** Runs with an end: flush, tick, and one job at most, on every engine. */
export function runsSuite(name: Engine, open: (engine: Engine) => Promise<TestEngine> = openEngine): void {
  describe(`[${name}] runs with an end`, () => {
    it('flush runs what is due and what becomes due meanwhile, and waits for no retry', async () => {
      await using engine = await open(name);
      const child = defineJob('child', { run: () => 'done' });
      const parent = defineJob('parent', { run: ({ dispatch }) => dispatch(child).then(() => undefined) });
      const flaky = defineJob('flaky', {
        attempts: 5,
        backoff: { type: 'fixed', base: '1h' },
        run: () => Promise.reject(new Error('not now')),
      });
      const broken = defineJob('broken', { attempts: 1, run: () => Promise.reject(new Error('never')) });
      const later = defineJob('later', { run: ({ snooze }) => snooze('1h') });
      await using millrace = new Millrace({
        database: engine.storage,
        jobs: [parent, child, flaky, broken, later],
      });
      for (let index = 0; index < 3; index += 1) await millrace.dispatch(parent);
      for (const job of [flaky, broken, later]) await millrace.dispatch(job);
      await millrace.dispatch(child, undefined, { delay: '1h' });
      await millrace.dispatch(child, undefined, { queue: 'other' });
      expect(await millrace.flush()).toEqual({
        ...{ completed: 6, failed: 1, buried: 1, cancelled: 0 },
        ...{ snoozed: 1, putBack: 0, died: 0, leaseLost: 0 },
      });
      expect(await millrace.flush(['other'])).toMatchObject({ completed: 1 });
      expect(await millrace.flush()).toMatchObject({ completed: 0, failed: 0 });
    });

    it('flush ends when only a limit keeps what is left', async () => {
      await using engine = await open(name);
      const job = defineJob('limited', { limit: { group: 'g', max: 1 }, run: () => undefined });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      await millrace.dispatch(job);
      const [held] = await engine.storage.claim(claimBy(1, ['limited'], 1));
      expect(held).toBeDefined();
      for (let index = 0; index < 3; index += 1) await millrace.dispatch(job);
      expect(await millrace.flush()).toMatchObject({ completed: 0 });
      const { id, token } = held as { id: string; token: string };
      await engine.storage.settle([{ id, token, kind: 'completed', result: null }]);
      expect(await millrace.flush()).toMatchObject({ completed: 3 });
    });

    it('tick starts nothing that its time would not let end, and why tells so', async () => {
      await using engine = await open(name);
      const ran: string[] = [];
      const slow = defineJob('slow', { run: () => void ran.push('slow') });
      const quick = defineJob('quick', { run: () => void ran.push('quick') });
      await using millrace = new Millrace({ database: engine.storage, jobs: [slow, quick] });
      await engine.storage.noteProfiles([
        { name: 'slow', count: 4, totalMs: 4 * minuteMs, maxRssBytes: null },
        { name: 'quick', count: 4, totalMs: 40, maxRssBytes: null },
      ]);
      const { id } = await millrace.dispatch(slow);
      await millrace.dispatch(quick);
      const report = await millrace.tick({ budget: '40s' });
      expect(report).toMatchObject({ completed: 1, putBack: 1, timeIsUp: false });
      expect(ran).toEqual(['quick']);
      const why = await millrace.why(id);
      expect(why?.job).toMatchObject({ status: 'pending', attempts: 0 });
      expect(why?.reasons[0]).toMatchObject({
        code: 'not-admitted',
        sentence: expect.stringMatching(
          /it takes about 1m, to which 5s are added to be safe, and .* were left/,
        ),
      });
      expect(await millrace.tick({ budget: '5m' })).toMatchObject({ completed: 1, putBack: 0 });
      expect(ran).toEqual(['quick', 'slow']);
    });

    it('tick aborts what runs when its time is over, and puts it back uncharged', async () => {
      await using engine = await open(name);
      const endless = defineJob('endless', {
        run: ({ signal }) => pause(10 * minuteMs, undefined, { signal }),
      });
      await using millrace = new Millrace({
        database: engine.storage,
        jobs: [endless],
        resourceTimeHeadroomMs: 0,
      });
      const { id } = await millrace.dispatch(endless);
      const report = await millrace.tick({ budget: '1s' });
      expect(report).toMatchObject({ putBack: 1, completed: 0, timeIsUp: true });
      expect(await millrace.job(id)).toMatchObject({ status: 'pending', attempts: 0, deaths: 0 });
      // It was seen to take all the time there was, so the next one of that length does not begin it.
      const [profile] = await engine.storage.profiles(['endless'], 60 * minuteMs);
      expect(profile).toMatchObject({ count: 1 });
    });

    it('ticks that overlap run each job once', async () => {
      await using engine = await open(name);
      const runs: string[] = [];
      const job = defineJob('once', { run: ({ job: { id } }) => void runs.push(id) });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      await millrace.dispatchMany(Array.from({ length: 200 }, () => ({ job: 'once' as const })));
      const reports = await Promise.all([1, 2, 3].map(() => millrace.tick({ concurrency: 4 })));
      expect(reports.reduce((sum, { completed }) => sum + completed, 0)).toBe(200);
      expect(new Set(runs).size).toBe(200);
      expect(runs).toHaveLength(200);
    });

    it('tick takes back what a worker that is gone had, and runs it', async () => {
      await using engine = await open(name);
      const job = defineJob('left', { run: () => 'done' });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      const handle = await millrace.dispatch(job);
      const claimed = await engine.storage.claim(claimBy(2, ['left'], 0));
      expect(claimed).toHaveLength(1);
      expect(await millrace.tick()).toMatchObject({ completed: 0, recovered: { waiting: 0 } });
      // One lease has passed, and another since it lapsed; a server that is up for less is no evidence.
      const goneMs = 4 * minuteMs;
      const isProven = ((await engine.storage.serverUptimeMs()) ?? Number.POSITIVE_INFINITY) >= goneMs;
      engine.clock.advance(goneMs);
      const report = await millrace.tick();
      const recovered = { retried: isProven ? { default: 1 } : {}, waiting: isProven ? 0 : 1 };
      expect(report).toMatchObject({ completed: isProven ? 1 : 0, recovered });
      expect(await handle.job()).toMatchObject({
        status: isProven ? 'completed' : 'processing',
        attempts: 0,
      });
    });

    it('a run of one job starts one and leaves the others', async () => {
      await using engine = await open(name);
      const job = defineJob('one', { run: () => 'done' });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      for (let index = 0; index < 5; index += 1) await millrace.dispatch(job);
      const worker = millrace.worker({ concurrency: 5 });
      const endsAtMs = monotonicMs() + minuteMs;
      worker.setBounds({ endsAtMs, mostJobs: 1 });
      expect(await runUntilIdle(worker, { endsAtMs })).toBe('idle');
      expect(worker.counts.of('completed')).toBe(1);
      expect(worker.counts.of('put-back')).toBe(0);
      expect(await millrace.stats('default')).toMatchObject({ completed: 1, pending: 4 });
    });

    it('ends at once when nothing is due', async () => {
      await using engine = await open(name);
      const job = defineJob('none', { run: () => 'done' });
      await using millrace = new Millrace({ database: engine.storage, jobs: [job] });
      expect(await millrace.tick({ queues: '*' })).toMatchObject({ completed: 0, timeIsUp: false });
      expect(await millrace.flush('*')).toMatchObject({ completed: 0 });
    });
  });
}
