import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../../src/client/define-job.js';
import { MillraceHttp } from '../../../src/client/http/millrace-http.js';
import { Millrace, newJobId } from '../../../src/index.js';
import { hasErrorCode } from '../../../src/internal/errors.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { fail, greet, openApi, steps, work } from './api-stage.js';

const code = (name: Parameters<typeof hasErrorCode>[1]) => (error: unknown) => hasErrorCode(error, name);

describe('[memory] typed client over http', () => {
  it('dispatches by definition or name, and gives typed results, progress and failures', async () => {
    await using at = await openApi('memory');
    await using http = new MillraceHttp({ url: at.url, jobs: [greet, fail, steps] });
    const handle = await http.dispatch(greet, { name: 'Ada' });
    expect(handle.deduplicated).toBe(false);
    const byName = await http.dispatch('steps', { count: 3 });
    const broken = await http.dispatch(fail);
    const waiting = handle.result({ timeout: '30s' });
    await work(at.client);
    const result = await waiting;
    expectTypeOf(result).toEqualTypeOf<string>();
    expect(result).toBe('Hello Ada');
    const seen: number[] = [];
    for await (const { done, at: moment } of byName.progress({ timeout: '30s' })) {
      expect(moment).toBeInstanceOf(Date);
      seen.push(done);
    }
    expect(seen.at(-1)).toBe(3);
    await expect(broken.result({ timeout: '30s' })).rejects.toSatisfy(code('job-failed'));
    await expect(broken.result()).rejects.toMatchObject({
      cause: { message: 'no way' },
      details: { reason: 'attempts-exhausted' },
    });
    const job = await handle.job();
    expect(job).toMatchObject({ status: 'completed', result: 'Hello Ada', input: { name: 'Ada' } });
    expect(job?.createdAt).toBeInstanceOf(Date);
    expect(await http.job(newJobId())).toBeNull();
    expect((await http.why(handle.id))?.reasons[0]?.code).toBe('completed');
    expect((await http.log(byName.id)).some(({ text }) => text === 'step 1')).toBe(true);
    await expect(http.handle(newJobId()).result({ timeout: '1s' })).rejects.toSatisfy(code('job-not-found'));
    const later = await http.dispatch(greet, { name: 'B' }, { delay: '1h' });
    await expect(later.result({ timeout: 50 })).rejects.toMatchObject({
      code: 'result-timeout',
      details: { status: 'pending' },
    });
  });

  it('sends all that its definition says to a hub that does not know it', async () => {
    await using at = await openApi('memory', { jobs: [] });
    const job = defineJob('far', {
      input: z.object({ tenant: z.string(), big: z.string().optional() }),
      queue: 'other',
      priority: 'high',
      attempts: 7,
      tags: ['t'],
      upcast: [(v1: unknown) => v1],
      unique: { key: ({ tenant }) => `one of ${tenant}` },
      limit: { group: 'g', max: 2, key: ({ tenant }) => tenant },
      cost: 3,
      requires: ['gpu'],
      retention: '1h',
    });
    await using http = new MillraceHttp({ url: at.url });
    await using direct = new Millrace({ database: at.engine.storage, jobs: [job] });
    const one = await http.dispatch(job, { tenant: 'a' });
    expect((await direct.dispatch(job, { tenant: 'a' })).id).toBe(one.id);
    expect(await direct.job(one.id)).toMatchObject({
      queue: 'other',
      priority: 10,
      maxAttempts: 7,
      tags: ['t'],
      version: 2,
      limit: { group: 'g', max: 2, key: 'a' },
      cost: 3,
      requires: ['gpu'],
      retentionMs: 3_600_000,
    });
    const many = await http.dispatchMany([
      { job, input: { tenant: 'b', big: 'x'.repeat(900_000) } },
      { job, input: { tenant: 'c', big: 'x'.repeat(900_000) } },
      { job, input: { tenant: 'd', big: 'x'.repeat(900_000) } },
      { job, input: { tenant: 'a' } },
    ]);
    expect(many.map(({ deduplicated }) => deduplicated)).toEqual([false, false, false, true]);
  });

  it('tells errors as Millrace does: its own before anything is sent, those of the hub with their codes', async () => {
    await using at = await openApi('memory');
    await using http = new MillraceHttp({ url: at.url, jobs: [greet] });
    await expect(http.dispatch(greet, { name: '' })).rejects.toSatisfy(code('payload-invalid'));
    await expect(http.dispatch(greet, { name: 'A' }, { queue: 'a b' })).rejects.toSatisfy(
      code('queue-name-invalid'),
    );
    await expect(http.dispatch(greet, { name: 'A' }, { tx: {} as never })).rejects.toSatisfy(
      code('option-invalid'),
    );
    await expect(http.dispatch(greet, { name: 'A' }, { after: newJobId() })).rejects.toSatisfy(
      code('parent-not-found'),
    );
    await http.dispatch(greet, { name: 'A' }, { idempotencyKey: 'k' });
    await expect(http.dispatch(greet, { name: 'B' }, { idempotencyKey: 'k' })).rejects.toSatisfy(
      code('idempotency-conflict'),
    );
    expect(() => new MillraceHttp({ url: 'nonsense', token: 'a b', colour: 1 } as never)).toThrow(
      /3 problems/,
    );
    const withUser = () => new MillraceHttp({ url: 'http://u:secret@h' });
    expect(withUser).toThrow(/a user in it/);
    expect(withUser).not.toThrow(/secret/);
    await using nobody = new MillraceHttp({ url: 'http://127.0.0.1:9', timeout: 300 });
    await expect(nobody.stats()).rejects.toSatisfy(code('hub-unreachable'));
    await http.close();
    await expect(http.stats()).rejects.toSatisfy(code('closed'));
  });

  it('operates: outcomes are values, lists have dates', async () => {
    await using at = await openApi('memory');
    await using http = new MillraceHttp({ url: at.url });
    const { id } = await http.dispatch('greet', { name: 'A' });
    expect([
      await http.cancel(id),
      await http.cancel(id),
      await http.retry(id),
      await http.retry(newJobId()),
    ]).toEqual(['done', 'already-final', 'done', 'not-found']);
    expect(await http.edit(id, { priority: 'urgent' })).toBe('done');
    expect(
      (await http.cancelMany({ where: { name: 'greet' }, dryRun: true })).sample[0]?.createdAt,
    ).toBeInstanceOf(Date);
    await http.pause('default');
    expect([await http.isPaused('default'), await http.queues()]).toEqual([true, ['default']]);
    await http.resume('default');
    await work(at.client);
    expect(await http.purge({ olderThan: 0 })).toBe(1);
    await using worker = at.client.worker({ queues: ['nothing'] });
    await worker.start();
    expect([
      await http.drainWorker(worker.id),
      await http.forgetWorker(worker.id),
      await http.drainWorker('none'),
    ]).toEqual(['done', 'alive', 'not-found']);
    expect((await http.workers()).find(({ id: each }) => each === worker.id)).toMatchObject({
      adminState: 'drain',
      alive: true,
    });
    expect((await http.whyWorker(worker.id))?.reasons.map((reason) => reason.code)).toContain(
      'drained-by-operator',
    );
    expect((await http.audit({ limit: 1 })).entries[0]?.at).toBeInstanceOf(Date);
    const jobs = [1, 2, 3].map((n) => ({ job: 'greet', input: { name: `n${n}` } }));
    const ids = (await http.dispatchMany(jobs)).map((handle) => handle.id);
    const listed: string[] = [];
    for await (const job of http.eachJob({ limit: 2 })) listed.push(job.id);
    expect(listed.sort()).toEqual(ids.sort());
    expect(await http.limits()).toEqual([]);
  });

  it('repeats a dispatch whose answer was lost, and makes one job', async () => {
    await using at = await openApi('memory');
    await using proxy = await tcpProxy(at.url);
    await using http = new MillraceHttp({ url: proxy.url, timeout: '25s' });
    let lost = 0;
    proxy.dropAnswers(() => {
      lost += 1;
      return lost === 1;
    });
    const handle = await http.dispatch('greet', { name: 'A' });
    expect(proxy.dropped).toBe(1);
    expect(handle.deduplicated).toBe(false);
    expect((await at.client.jobs()).jobs).toHaveLength(1);
  });
});
