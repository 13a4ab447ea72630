import { expect, test } from 'vitest';
import { done, failure, HOUR, type Stage, type Verdict } from './stage.js';

const buried: Verdict = { kind: 'buried', reason: 'non-retriable', errors: failure() };

export function changeManySuite(stage: Stage): void {
  test('each job has the outcome of its own, in the order of the ids', async () => {
    const queue = stage.queue();
    const ended = await stage.ended(queue, done);
    const running = await stage.running(queue);
    const pending = await stage.add(queue, { due: { inMs: HOUR } });
    const blocked = await stage.add(queue, { after: { ids: [running.id], onFailure: 'run' } });
    const unknown = stage.newJob(queue).id;
    const ids = [blocked, unknown, ended.id, pending, running.id];
    const outcomes = await stage.storage.changeMany({ change: { kind: 'cancel' }, ids });
    expect(outcomes).toEqual(['done', 'not-found', 'already-final', 'done', 'requested']);
    const statuses = ['cancelled', 'unknown', 'completed', 'cancelled', 'processing'];
    expect(await stage.statuses(ids)).toEqual(statuses);
    expect((await stage.record(pending)).reason).toBe('operator');
    expect((await stage.record(running.id)).stopRequest).toBe('cancel');
    expect(await stage.storage.changeMany({ change: { kind: 'cancel' }, ids: [] })).toEqual([]);
  });

  test('a thousand at once, and each is changed', async () => {
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 1_000, { due: { inMs: HOUR } });
    const change = async (kind: 'bury' | 'retry' | 'delete'): Promise<Set<string>> =>
      new Set(await stage.storage.changeMany({ change: { kind }, ids }));
    expect(await change('bury')).toEqual(new Set(['done']));
    expect(await stage.stats(queue)).toMatchObject({ buried: 1_000, pending: 0 });
    expect(await change('retry')).toEqual(new Set(['done']));
    expect(await stage.stats(queue)).toMatchObject({ claimable: 1_000 });
    const edit = { priority: -3, due: { inMs: HOUR } };
    const edited = await stage.storage.changeMany({ change: { kind: 'edit', edit }, ids });
    expect(new Set(edited)).toEqual(new Set(['done']));
    expect(await stage.stats(queue)).toMatchObject({ pending: 1_000, claimable: 0 });
    expect(await change('delete')).toEqual(new Set(['done']));
    expect(await stage.allJobs({ queue })).toEqual([]);
  });

  test('with a status only jobs that still have it are changed', async () => {
    const queue = stage.queue();
    const pending = await stage.add(queue, { due: { inMs: HOUR } });
    const running = await stage.running(queue);
    const unknown = stage.newJob(queue).id;
    const outcomes = await stage.storage.changeMany({
      change: { kind: 'cancel' },
      ids: [running.id, pending, unknown],
      status: 'pending',
    });
    expect(outcomes).toEqual(['not-allowed', 'done', 'not-found']);
    expect((await stage.record(running.id)).stopRequest).toBeNull();
  });

  test('of several retries that want one unique key the lowest id gets it', async () => {
    const queue = stage.queue();
    const unique = { key: queue, scope: 'active', periodMs: 0 } as const;
    const one = await stage.ended(queue, buried, { unique });
    const two = await stage.ended(queue, buried, { unique });
    const pending = await stage.add(queue, { due: { inMs: HOUR } });
    const outcomes = await stage.storage.changeMany({
      change: { kind: 'retry' },
      ids: [two.id, pending, one.id],
    });
    expect(outcomes).toEqual(['duplicate', 'done', 'done']);
    expect(await stage.statuses([one.id, two.id])).toEqual(['pending', 'buried']);
    expect(await stage.claimIds(queue)).toEqual(expect.arrayContaining([one.id, pending]));
  });

  for (const kind of ['cancel', 'bury', 'delete'] as const) {
    test(`a ${kind} of jobs that wait for each other ends each as itself, and who waits for them follows`, async () => {
      const queue = stage.queue();
      const parent = await stage.add(queue, { due: { inMs: HOUR } });
      const child = await stage.add(queue, { after: { ids: [parent], onFailure: 'bury' } });
      const outside = await stage.add(queue, { after: { ids: [child], onFailure: 'run' } });
      const doomed = await stage.add(queue, { after: { ids: [child], onFailure: 'cancel' } });
      const ids = [child, parent];
      expect(await stage.storage.changeMany({ change: { kind }, ids })).toEqual(['done', 'done']);
      const status = { cancel: 'cancelled', bury: 'buried', delete: 'unknown' }[kind];
      expect(await stage.statuses([parent, child, outside, doomed])).toEqual([
        ...[status, status, 'pending', 'cancelled'],
      ]);
      if (kind !== 'delete') expect((await stage.record(child)).reason).toBe('operator');
    });
  }
}
