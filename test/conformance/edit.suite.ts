import { expect, test } from 'vitest';
import { done, expectAbout, failure, HOUR, MINUTE, type Stage } from './stage.js';

export function editSuite(stage: Stage): void {
  test('a waiting job runs with its new payload, priority, due time and queue', async () => {
    const [queue, other] = [stage.queue(), stage.queue()];
    const id = await stage.add(queue, { due: { inMs: HOUR }, version: 1 });
    const edit = { payload: '{"n":2}', version: 3, priority: 20, due: { inMs: 0 }, queue: other };
    expect(await stage.storage.edit(id, edit)).toBe('done');
    expect(await stage.record(id)).toMatchObject({
      ...{ status: 'pending', payload: '{"n":2}', version: 3, priority: 20, queue: other, attempts: 0 },
    });
    expect(await stage.claim(queue)).toEqual([]);
    expect(await stage.claimOne(other)).toMatchObject({ id, payload: '{"n":2}', version: 3, priority: 20 });
    expect(await stage.allJobs({ queue })).toEqual([]);
    expect((await stage.stats(other)).processing).toBe(1);
  });

  test('what an edit leaves out stays as it is', async () => {
    const queue = stage.queue();
    const with_ = { payload: '{"n":7}', version: 2, priority: 3, due: { inMs: MINUTE }, tags: ['a', 'b'] };
    const before = await stage.record(await stage.add(queue, with_));
    expect(await stage.storage.edit(before.id, {})).toBe('done');
    expect(await stage.record(before.id)).toEqual(before);
    expect(await stage.storage.edit(before.id, { payload: '8' })).toBe('done');
    expect(await stage.record(before.id)).toEqual({ ...before, payload: '8' });
  });

  test('an edited job takes its new place in line', async () => {
    const queue = stage.queue();
    const [one, two, three] = await stage.addMany(queue, 3);
    await stage.storage.edit(three ?? '', { priority: 5 });
    await stage.storage.edit(one ?? '', { due: { inMs: 1 } });
    stage.advance(MINUTE);
    expect(await stage.claimIds(queue)).toEqual([three, two, one]);
  });

  test('a job can be put off, and taken back, by its due time', async () => {
    const queue = stage.queue();
    const id = await stage.add(queue);
    expect(await stage.storage.edit(id, { due: { inMs: HOUR } })).toBe('done');
    expect(await stage.claim(queue)).toEqual([]);
    expect((await stage.stats(queue)).claimable).toBe(0);
    const atMs = (await stage.storage.now()) + MINUTE;
    expect(await stage.storage.edit(id, { due: { atMs } })).toBe('done');
    expect((await stage.record(id)).dueAtMs).toBe(Math.round(atMs));
    stage.advance(2 * MINUTE);
    expect(await stage.claimIds(queue)).toEqual([id]);
  });

  test('a blocked job is edited where it waits, but for its due time', async () => {
    const [queue, other] = [stage.queue(), stage.queue()];
    const parent = await stage.running(queue);
    const child = await stage.add(queue, { after: { ids: [parent.id], onFailure: 'bury' } });
    const edit = { payload: '"new"', version: 2, priority: 9, queue: other };
    expect(await stage.storage.edit(child, edit)).toBe('done');
    expect(await stage.record(child)).toMatchObject({ status: 'blocked', waitsFor: [parent.id], ...edit });
    expect((await stage.stats(other)).blocked).toBe(1);
    expect(await stage.storage.edit(child, { due: { inMs: 0 }, payload: '"no"' })).toBe('not-allowed');
    expect((await stage.record(child)).payload).toBe('"new"');
    await stage.settle(parent);
    expect(await stage.claimOne(other)).toMatchObject({
      id: child,
      payload: '"new"',
      version: 2,
      priority: 9,
    });
  });

  test('a running job is not edited, a final one has ended, an unknown one is not found', async () => {
    const queue = stage.queue();
    const ended = await stage.ended(queue, done);
    const running = await stage.running(queue);
    const edit = { payload: '"late"', priority: 1 };
    expect(await stage.storage.edit(running.id, edit)).toBe('not-allowed');
    expect(await stage.storage.edit(ended.id, edit)).toBe('already-final');
    expect(await stage.storage.edit(stage.newJob(queue).id, edit)).toBe('not-found');
    for (const { id } of [running, ended])
      expect(await stage.record(id)).toMatchObject({ payload: '{"n":1}' });
    expect(await stage.settle(running)).toBe('done');
  });

  test('a new due time forgets what the job was put back for; other edits keep it', async () => {
    const queue = stage.queue();
    const job = await stage.ended(queue, { kind: 'put-back', delayMs: HOUR, reason: 'no room' });
    await stage.storage.edit(job.id, { priority: 1 });
    expect((await stage.record(job.id)).reason).toBe('no room');
    await stage.storage.edit(job.id, { due: { inMs: MINUTE } });
    const record = await stage.record(job.id);
    expect(record.reason).toBeNull();
    expectAbout(record.dueAtMs, (await stage.storage.now()) + MINUTE);
  });

  test('failures, attempts and the keys of a job outlive its edit', async () => {
    const queue = stage.queue();
    const unique = { key: queue, scope: 'active', periodMs: 0 } as const;
    const job = await stage.running(queue, { unique });
    await stage.settle(job, { kind: 'retry', delayMs: HOUR, errors: failure() });
    expect(await stage.storage.edit(job.id, { payload: '2', queue: stage.queue() })).toBe('done');
    expect(await stage.record(job.id)).toMatchObject({ attempts: 1, errors: failure(), uniqueKey: queue });
    const again = stage.newJob(queue, { unique });
    expect(await stage.offer(again)).toEqual({ outcome: 'duplicate', id: job.id });
  });

  test('a job that must run alone still does in its new queue', async () => {
    const [queue, other] = [stage.queue(), stage.queue()];
    await stage.running(queue);
    const lease = await stage.lapse(queue);
    const died = { kind: 'died', delayMs: 0, alone: true, errors: failure() } as const;
    await stage.storage.takeBack([{ ...lease, ...died }]);
    expect(await stage.storage.edit(lease.id, { queue: other, priority: 7 })).toBe('done');
    expect(await stage.claim(other)).toEqual([]);
    expect(await stage.claimIds(other, { alone: true })).toEqual([lease.id]);
  });

  test('a long payload can be edited to a short one and back', async () => {
    const queue = stage.queue();
    const long = JSON.stringify('x'.repeat(100_000));
    const id = await stage.add(queue);
    for (const payload of [long, '1', long]) {
      expect(await stage.storage.edit(id, { payload })).toBe('done');
      expect((await stage.record(id)).payload).toBe(payload);
    }
    expect((await stage.claimOne(queue)).payload).toBe(long);
  });
}
