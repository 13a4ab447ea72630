import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Millrace } from '../../../src/client/millrace.js';
import type { WhyReason } from '../../../src/client/why.js';
import { type ReasonCode, reasonCodes } from '../../../src/core/why-facts.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import type { WorkerReport } from '../../../src/storage/worker-record.js';
import { failure, HOUR, LEASE, MINUTE, SECOND, Stage, type Verdict } from '../../conformance/stage.js';
import { openEngine, type TestEngine } from '../../support/engines.js';
import { workerReport } from '../../support/worker-report.js';

/** Forces every reason on a real engine. */
export function whySuite(name: Engine): void {
  let engine: TestEngine;
  let millrace: Millrace;
  const stage = new Stage(name, () => engine);
  const forced = new Set<ReasonCode>();

  async function why(id: string): Promise<readonly WhyReason[]> {
    const answer = await millrace.why(id);
    if (answer === null) throw new Error(`there is no job ${id}`);
    expect(answer.job.id).toBe(id);
    for (const { code, sentence } of answer.reasons) {
      forced.add(code);
      expect(sentence).toMatch(/^[A-Z0-9].*\.$/s);
    }
    return answer.reasons;
  }

  const codes = (reasons: readonly WhyReason[]): string[] => reasons.map(({ code }) => code);

  async function reason(id: string, code: ReasonCode): Promise<WhyReason> {
    const reasons = await why(id);
    const found = reasons.find((one) => one.code === code);
    if (found === undefined) throw new Error(`expected the reason ${code}, got ${codes(reasons).join(', ')}`);
    return found;
  }

  /** A worker that has said so much of itself, until the test is over. */
  async function alive(report: Partial<WorkerReport>): Promise<AsyncDisposable & { readonly id: string }> {
    const id = stage.queue();
    const incarnation = stage.incarnation();
    await stage.storage.register(
      workerReport({ id, incarnation, queues: [], handlers: ['work'], ...report }),
      0,
    );
    return { id, [Symbol.asyncDispose]: () => stage.storage.unregister(id, incarnation) };
  }

  async function ended(verdict: Verdict, job: Partial<NewJob> = {}): Promise<string> {
    return (await stage.ended(stage.queue(), verdict, job)).id;
  }

  beforeAll(async () => {
    engine = await openEngine(name);
    millrace = new Millrace({ database: engine.storage });
  });
  afterAll(async () => {
    await millrace.close();
    await engine[Symbol.asyncDispose]();
  });

  describe(`[${name}] why`, () => {
    it('an unknown job has no reasons', async () => {
      expect(await millrace.why(stage.newJob('q').id)).toBeNull();
      await expect(millrace.why('short')).rejects.toThrow(/full id/);
    });

    it('no worker is alive', async () => {
      const id = await stage.add(stage.queue());
      expect(await reason(id, 'no-live-worker')).toMatchObject({
        numbers: { liveWorkers: 0 },
        nextChangeAt: null,
      });
    });

    it('it is not due, and until when', async () => {
      const queue = stage.queue();
      await using _ = await alive({ queues: [queue] });
      const id = await stage.add(queue, { due: { inMs: HOUR } });
      const reasons = await why(id);
      expect(codes(reasons)).toEqual(['not-due']);
      const [notDue] = reasons;
      expect(notDue?.numbers['dueInMs']).toBeGreaterThan(HOUR - MINUTE);
      expect(notDue?.nextChangeAt?.getTime()).toBe((await stage.record(id)).dueAtMs);
    });

    it('it failed before, with what, and when the next attempt is', async () => {
      const id = await ended({ kind: 'retry', delayMs: HOUR, errors: failure('it broke') });
      const failed = await reason(id, 'failed-before');
      expect(failed.sentence).toContain('"Error: it broke"');
      expect(failed.numbers).toEqual({ attempts: 1, maxAttempts: 3 });
      expect(failed.nextChangeAt?.getTime()).toBe((await stage.record(id)).dueAtMs);
    });

    it('it was put back, and for what', async () => {
      const id = await ended({ kind: 'put-back', delayMs: MINUTE, reason: 'no memory left' });
      expect(await reason(id, 'put-back')).toMatchObject({
        sentence: 'A worker gave it back, uncharged: no memory left.',
        nextChangeAt: new Date((await stage.record(id)).dueAtMs),
      });
      const newer = 'payload-newer: its input has version 3, the code of worker w knows 2';
      const other = await ended({ kind: 'put-back', delayMs: MINUTE, reason: newer });
      expect((await reason(other, 'payload-newer')).sentence).toContain(
        'newer code: its input has version 3',
      );
    });

    it('there was no room for it where it was about to start', async () => {
      const denied = 'not-admitted: it needs about 300 MB, 200 MB of memory were free';
      const id = await ended({ kind: 'put-back', delayMs: MINUTE, reason: denied });
      expect((await reason(id, 'not-admitted')).sentence).toBe(
        'A worker gave it back, uncharged: it needs about 300 MB, 200 MB of memory were free.',
      );
    });

    it('no worker has a lane of its kind, or starts it for now', async () => {
      const queue = stage.queue();
      const id = await stage.add(queue);
      const details = { withoutLane: { work: 'process' } };
      await using _one = await alive({ queues: [queue], details });
      expect((await reason(id, 'no-lane')).sentence).toMatch(
        /^It runs in a process lane, and worker .* has none/,
      );
      await using _two = await alive({ queues: ['*', '!other'] });
      expect(codes(await why(id))).toEqual(['about-to-run']);
    });

    describe('limits, budgets and labels', () => {
      it('as many of its group and key run as may, and who holds one', async () => {
        const queue = stage.queue();
        await using _ = await alive({ queues: [queue] });
        const limit = { group: stage.queue(), key: 'tenant', max: 2 };
        const [first] = await stage.addMany(queue, 2, { limit });
        await stage.claim(queue);
        const id = await stage.add(queue, { limit });
        const limited = await reason(id, 'limited');
        expect(limited.numbers).toEqual({ running: 2, max: 2 });
        expect(limited.sentence).toMatch(/^2 of at most 2 jobs of key "tenant" of group .* run: /);
        expect(limited.sentence).toContain('Worker worker-1 has held job');
        const smaller = await stage.add(queue, { limit: { ...limit, max: 1 } });
        expect((await reason(smaller, 'limited')).numbers).toEqual({ running: 2, max: 1 });
        const larger = await stage.add(queue, { limit: { ...limit, max: 9 } });
        expect((await reason(larger, 'limited')).numbers).toEqual({ running: 2, max: 2 });
        await stage.storage.cancel(first ?? '');
      });

      it('what runs uses its budget up, or it costs more than the whole', async () => {
        const [queue, group] = [stage.queue(), stage.queue()];
        await using _ = await alive({ queues: [queue] });
        const budgets = { queues: { [queue]: 10 }, groups: { [group]: 6 } };
        await using asking = new Millrace({
          database: engine.storage,
          queueCostBudgets: budgets.queues,
          groupCostBudgets: budgets.groups,
        });
        const reasonsOf = async (id: string): Promise<readonly WhyReason[]> => {
          const { reasons = [] } = (await asking.why(id)) ?? {};
          for (const { code } of reasons) forced.add(code);
          return reasons;
        };
        const limit = { group, key: null, max: null };
        await stage.add(queue, { cost: 4 });
        await stage.add(queue, { cost: 5, limit });
        expect(await stage.claim(queue, { budgets })).toHaveLength(2);
        const tight = await reasonsOf(await stage.add(queue, { cost: 3, limit }));
        expect(tight.map(({ code, numbers }) => [code, numbers])).toEqual([
          ['over-budget', { cost: 3, running: 5, budget: 6 }],
          ['over-budget', { cost: 3, running: 9, budget: 10 }],
        ]);
        const never = await reasonsOf(await stage.add(queue, { cost: 11 }));
        expect(never[0]).toMatchObject({ code: 'above-budget', numbers: { cost: 11, budget: 10 } });
        expect(never[0]?.sentence).toContain('RESOURCE_QUEUE_COST_BUDGETS');
      });

      it('no worker has its labels', async () => {
        const queue = stage.queue();
        const id = await stage.add(queue, { requires: ['eu', 'gpu'] });
        await using _one = await alive({ queues: [queue], labels: ['gpu'] });
        expect((await reason(id, 'no-worker-for-labels')).sentence).toContain('--labels eu,gpu');
        await using _two = await alive({ queues: [queue], labels: ['gpu', 'eu'] });
        expect(codes(await why(id))).toEqual(['about-to-run']);
      });
    });

    it('its queue is paused', async () => {
      const queue = stage.queue();
      await using _ = await alive({ queues: [queue] });
      const id = await stage.add(queue);
      await stage.storage.setPaused(queue, true);
      expect(codes(await why(id))).toEqual(['queue-paused']);
      await stage.storage.setPaused(queue, false);
      expect(codes(await why(id))).toEqual(['about-to-run']);
    });

    it('it waits for others, and what these are', async () => {
      const queue = stage.queue();
      await using _ = await alive({ queues: [queue] });
      const running = await stage.running(queue);
      const waiting = await stage.add(queue, { due: { inMs: HOUR } });
      const id = await stage.add(queue, { after: { ids: [running.id, waiting], onFailure: 'bury' } });
      const reasons = await why(id);
      expect(codes(reasons)).toEqual(['waits-for', 'waits-for']);
      const sentences = reasons.map(({ sentence }) => sentence);
      expect(sentences).toContain(`It waits for job ${running.id}, which is processing.`);
      expect(sentences).toContain(`It waits for job ${waiting}, which is pending.`);
      expect(reasons[0]?.numbers).toEqual({ waitsFor: 2 });
    });

    it('no live worker knows its name, or serves its queue, or both at once', async () => {
      const [queue, other] = [stage.queue(), stage.queue()];
      const id = await stage.add(queue, { name: 'rare' });
      await using _one = await alive({ queues: [other], handlers: ['work'] });
      expect(codes(await why(id))).toEqual(['no-worker-for-name', 'no-worker-for-queue']);
      expect((await reason(id, 'no-worker-for-queue')).sentence).toContain(`served: ${other}.`);
      await using _two = await alive({ queues: [queue], handlers: ['work'] });
      expect(codes(await why(id))).toEqual(['no-worker-for-name']);
      await using _three = await alive({ queues: [other], handlers: ['rare'] });
      const both = await reason(id, 'no-worker-for-both');
      expect(both.numbers).toEqual({ liveWorkers: 3, knowing: 1, serving: 1 });
      await using _four = await alive({ queues: [queue], handlers: ['rare'] });
      expect(codes(await why(id))).toEqual(['about-to-run']);
    });

    it('a worker that is silent for long, or said goodbye, is not alive', async () => {
      const queue = stage.queue();
      const id = await stage.add(queue);
      const worker = await alive({ queues: [queue] });
      expect(codes(await why(id))).toEqual(['about-to-run']);
      await worker[Symbol.asyncDispose]();
      expect(codes(await why(id))).toEqual(['no-live-worker']);
      await using _ = await alive({ queues: [queue] });
      stage.advance(3 * MINUTE);
      expect(codes(await why(id))).toEqual(['no-live-worker']);
    });

    it('those that could run it are draining', async () => {
      const queue = stage.queue();
      const id = await stage.add(queue);
      await using _ = await alive({ queues: [queue], state: 'DRAINING' });
      expect(await reason(id, 'workers-not-taking')).toMatchObject({
        sentence: '1 live worker could run it, but takes no new jobs: 1 draining.',
        numbers: { able: 1, draining: 1, standby: 0 },
      });
    });

    it('others stand before it, and how many slots there are', async () => {
      const queue = stage.queue();
      await using _one = await alive({ queues: [queue], concurrency: 4, running: 4 });
      await using _two = await alive({ queues: [queue], concurrency: 6, running: 5 });
      const [first] = await stage.addMany(queue, 7);
      const id = await stage.add(queue);
      expect(await reason(id, 'waiting-behind')).toMatchObject({
        sentence: `7 due jobs stand before it in queue "${queue}"; 2 workers that can run it have 10 slots, 9 of them busy.`,
        numbers: { ahead: 7, workers: 2, slots: 10, running: 9 },
      });
      const next = await reason(first ?? '', 'about-to-run');
      expect(next.nextChangeAt?.getTime()).toBeGreaterThan(await stage.storage.now());
    });

    it('it is the next, and every slot is busy', async () => {
      const queue = stage.queue();
      await using _ = await alive({ queues: [queue], concurrency: 4, running: 4 });
      const id = await stage.add(queue);
      expect((await reason(id, 'slots-busy')).numbers).toEqual({
        ahead: 0,
        workers: 1,
        slots: 4,
        running: 4,
      });
    });

    it('it must run alone', async () => {
      const queue = stage.queue();
      await using _ = await alive({ queues: [queue] });
      const { id } = await stage.running(queue);
      const died = { kind: 'died', delayMs: 0, alone: true, errors: failure('gone') } as const;
      await stage.storage.takeBack([{ ...(await stage.lapse(queue)), ...died }]);
      expect((await reason(id, 'runs-alone')).numbers).toEqual({ deaths: 1 });
    });

    it('it runs: where, since when, how far', async () => {
      const queue = stage.queue();
      await using worker = await alive({ queues: [queue] });
      const job = await stage.running(queue, {}, { workerId: worker.id });
      const text = JSON.stringify({ done: 40, total: 100, note: 'pages' });
      await stage.storage.appendLog([
        { id: job.id, token: job.token, seq: 1, kind: 'progress', level: 'info', text: '{"done":1}' },
        { id: job.id, token: job.token, seq: 2, kind: 'progress', level: 'info', text },
      ]);
      stage.advance(20 * SECOND);
      const running = await reason(job.id, 'running');
      expect(running.sentence).toContain(`Worker ${worker.id} runs it for 2`);
      expect(running.sentence).toContain('(attempt 1 of 3), 40 of 100 done (pages).');
      expect(running.numbers).toMatchObject({ attempt: 1, maxAttempts: 3, done: 40, total: 100 });
      expect(running.nextChangeAt?.getTime()).toBe((await stage.record(job.id)).leaseUntilMs);
    });

    it('it was taken and has not started', async () => {
      const job = await stage.running(stage.queue(), {}, { start: 0 });
      expect((await reason(job.id, 'taken')).numbers['leaseLeftMs']).toBeGreaterThan(0);
    });

    it('it was asked to stop', async () => {
      const job = await stage.running(stage.queue());
      await stage.storage.cancel(job.id);
      const reasons = await why(job.id);
      expect(codes(reasons)).toEqual(['stop-requested', 'running']);
      expect(reasons[0]?.sentence).toContain('a cancel');
    });

    it('its lease has ended', async () => {
      const queue = stage.queue();
      await using worker = await alive({ queues: [queue] });
      const job = await stage.running(queue, {}, { workerId: worker.id });
      stage.advance(LEASE + MINUTE);
      const expired = await reason(job.id, 'lease-expired');
      expect(expired.numbers['expiredForMs']).toBeGreaterThanOrEqual(MINUTE);
      expect(expired.numbers['holderSilentForMs']).toBeGreaterThanOrEqual(MINUTE);
      await stage.settle(job);
    });

    it('it was buried, with what', async () => {
      const errors = failure('last words');
      const exhausted = await ended(
        { kind: 'buried', reason: 'attempts-exhausted', errors },
        { maxAttempts: 1 },
      );
      const why = await reason(exhausted, 'attempts-exhausted');
      expect(why.sentence).toMatch(
        /^Attempt 1 of 1, its last, failed .* ago: "Error: last words"\. Try again by/,
      );
      expect(why).toMatchObject({ numbers: { attempts: 1, maxAttempts: 1 }, nextChangeAt: null });
      const forGood = await ended({ kind: 'buried', reason: 'non-retriable', errors });
      expect((await reason(forGood, 'non-retriable')).sentence).toContain('"Error: last words"');
      const queue = stage.queue();
      const { id } = await stage.running(queue);
      await stage.storage.takeBack([{ ...(await stage.lapse(queue)), kind: 'poison', errors }]);
      expect((await reason(id, 'poison')).numbers['deaths']).toBe(1);
      const aside = await stage.add(stage.queue());
      await stage.storage.bury(aside);
      await reason(aside, 'buried-by-operator');
    });

    it('it was cancelled, by whom and why', async () => {
      const own = await ended({ kind: 'cancelled', reason: 'nothing to do' }, { retentionMs: HOUR });
      const cancelled = await reason(own, 'cancelled-by-handler');
      expect(cancelled.sentence).toMatch(
        /^Its handler cancelled it .*: nothing to do\. It is kept for 1h from then\.$/,
      );
      expect(cancelled.nextChangeAt?.getTime()).toBe(((await stage.record(own)).finishedAtMs ?? 0) + HOUR);
      const operated = await stage.add(stage.queue());
      const child = await stage.add(stage.queue(), { after: { ids: [operated], onFailure: 'cancel' } });
      await stage.storage.cancel(operated);
      await reason(operated, 'cancelled-by-operator');
      const { numbers, sentence } = await reason(child, 'parent-failed');
      expect(numbers).toMatchObject({ failedParents: 1 });
      expect(sentence).toContain(`since a job it waited for did not complete: ${operated} (cancelled).`);
      const { failedParents } = (await millrace.job(child)) ?? {};
      expect(failedParents).toEqual([{ id: operated, status: 'cancelled' }]);
    });

    it('it ended with those it waited for, and which of them did not complete', async () => {
      const [good, bad, worse, open] = await Promise.all([
        ended({ kind: 'completed', result: '1' }),
        ended({ kind: 'buried', reason: 'non-retriable', errors: failure('it broke') }),
        stage.add(stage.queue()),
        stage.add(stage.queue()),
      ]);
      const child = await stage.add(stage.queue(), {
        after: { ids: [good, bad, worse, open], onFailure: 'bury' },
      });
      await stage.storage.cancel(worse);
      const failedParents = [
        { id: bad, status: 'buried' },
        { id: worse, status: 'cancelled' },
      ].sort((a, b) => (a.id < b.id ? -1 : 1));
      const named = failedParents.map(({ id, status }) => `${id} (${status})`).join(', ');
      expect((await reason(child, 'parent-failed')).sentence).toContain(`did not complete: ${named}.`);
      expect(await millrace.job(child)).toMatchObject({ status: 'buried', waitsFor: [], failedParents });

      await stage.storage.delete(bad);
      await stage.storage.delete(worse);
      expect((await reason(child, 'parent-failed')).sentence).toContain('that one is no longer kept');
      expect(await millrace.job(child)).toMatchObject({ failedParents: [] });
    });

    it('it is done', async () => {
      const done = await ended({ kind: 'completed', result: '1' });
      expect((await reason(done, 'completed')).sentence).toContain('Worker worker-1 completed it');
      await reason(await ended({ kind: 'completed', result: null, outcome: 'skipped' }), 'skipped');
    });

    it('every reason was forced', () => {
      expect(Object.keys(reasonCodes).filter((code) => !forced.has(code as ReasonCode))).toEqual([]);
    });
  });
}
