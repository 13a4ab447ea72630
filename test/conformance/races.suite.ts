import { expect, test } from 'vitest';
import type { Storage } from '../../src/storage/storage.js';
import { done, HOUR, LEASE, MINUTE, SECOND, type Stage, settlement, sorted } from './stage.js';
import { buried } from './verdicts.js';

const ROUNDS = 12;

/** Two calls at the same instant, from two objects: whichever comes first, what both say and what is left agree. */
export function racesSuite(stage: Stage): void {
  /** Runs the race many times, each in a queue of its own, with sides changed in turn. */
  const race = async (
    round: (queue: string, mine: Storage, theirs: Storage) => Promise<void>,
  ): Promise<void> => {
    await using other = await stage.another();
    for (let count = 0; count < ROUNDS; count += 1) {
      const [mine, theirs] = count % 2 ? [stage.storage, other.storage] : [other.storage, stage.storage];
      await round(stage.queue(), mine, theirs);
    }
  };

  test('a cancel and a claim: the job is cancelled, or runs with the request', async () => {
    await race(async (queue, mine, theirs) => {
      const id = await stage.add(queue);
      const [outcome, claimed] = await Promise.all([mine.cancel(id), theirs.claim(stage.request(queue))]);
      const record = await stage.record(id);
      if (outcome === 'done') {
        expect(claimed).toEqual([]);
        expect(record.status).toBe('cancelled');
      } else {
        expect([outcome, claimed.length]).toEqual(['requested', 1]);
        expect(record).toMatchObject({ status: 'processing', stopRequest: 'cancel' });
      }
    });
  });

  test('a delete and a settlement: one of them ends the job', async () => {
    await race(async (queue, mine, theirs) => {
      const job = await stage.running(queue);
      const [outcome, [settled]] = await Promise.all([
        mine.delete(job.id),
        theirs.settle([settlement(job, buried)]),
      ]);
      const [status] = await stage.statuses([job.id]);
      expect(settled).toBe('done');
      // Asked for in time it is carried out by the settlement; too late it deletes what that left.
      expect(['requested', 'done']).toContain(outcome);
      expect(status).toBe('unknown');
    });
  });

  test('a rescuer and a late settlement: one of them has the lease', async () => {
    await race(async (queue, mine, theirs) => {
      const job = await stage.running(queue);
      const lease = await stage.lapse(queue);
      const [[taken], [settled]] = await Promise.all([
        mine.takeBack([{ ...lease, kind: 'lapsed' }]),
        theirs.settle([settlement(job, done)]),
      ]);
      const record = await stage.record(job.id);
      if (taken === 'done')
        expect([settled, record.status, record.lapses]).toEqual(['lease-lost', 'pending', 1]);
      else
        expect([taken, settled, record.status, record.lapses]).toEqual(['renewed', 'done', 'completed', 0]);
    });
  });

  test('a rescuer and a renewal: one of them has the lease', async () => {
    await race(async (queue, mine, theirs) => {
      const job = await stage.running(queue);
      const lease = await stage.lapse(queue);
      const [[taken], renewed] = await Promise.all([
        mine.takeBack([{ ...lease, kind: 'lapsed' }]),
        theirs.renew(job.token.slice(0, 16), LEASE),
      ]);
      const [status] = await stage.statuses([job.id]);
      // A renewal passes over what another has locked, and tells it as held until that is committed.
      const held = await theirs.held(job.token.slice(0, 16));
      if (taken === 'done') expect([held.length, status]).toEqual([0, 'pending']);
      else expect([taken, renewed.length, status]).toEqual(['renewed', 1, 'processing']);
    });
  });

  test('two retries of jobs with one unique key: one has it', async () => {
    await race(async (queue, mine, theirs) => {
      const unique = { key: queue, scope: 'active', periodMs: 0 } as const;
      const first = await stage.ended(queue, buried, { unique });
      const second = await stage.ended(queue, buried, { unique });
      const outcomes = await Promise.all([mine.retry(first.id), theirs.retry(second.id)]);
      expect(sorted(outcomes)).toEqual(['done', 'duplicate']);
      expect(sorted(await stage.statuses([first.id, second.id]))).toEqual(['buried', 'pending']);
    });
  });

  test('a retry and a dispatch with one unique key: one has it', async () => {
    await race(async (queue, mine, theirs) => {
      const unique = { key: queue, scope: 'active', periodMs: 0 } as const;
      const old = await stage.ended(queue, buried, { unique });
      const [retried, [dispatched]] = await Promise.all([
        mine.retry(old.id),
        theirs.enqueue([stage.newJob(queue, { unique })]),
      ]);
      if (retried === 'done') expect(dispatched).toEqual({ outcome: 'duplicate', id: old.id });
      else expect([retried, dispatched?.outcome]).toEqual(['duplicate', 'created']);
      expect((await stage.stats(queue)).pending).toBe(1);
    });
  });

  test('a settlement that frees a key and a dispatch that wants it: no key is left behind', async () => {
    await race(async (queue, mine, theirs) => {
      const unique = { key: queue, scope: 'active', periodMs: 0 } as const;
      const holder = await stage.running(queue, { unique });
      const [[settled], [dispatched]] = await Promise.all([
        mine.settle([settlement(holder)]),
        theirs.enqueue([stage.newJob(queue, { unique })]),
      ]);
      expect(settled).toBe('done');
      const next = await stage.offer(stage.newJob(queue, { unique }));
      if (dispatched?.outcome === 'created')
        expect(next).toEqual({ outcome: 'duplicate', id: dispatched.id });
      else expect([dispatched, next.outcome]).toEqual([{ outcome: 'duplicate', id: holder.id }, 'created']);
    });
  });

  for (const how of ['plain', 'with a key', 'with a parent'] as const) {
    test(`a settlement and a repeat of a dispatch ${how}: the job is not made again`, async () => {
      await race(async (queue, mine, theirs) => {
        const parent = await stage.ended(queue, done);
        const jobs = Array.from({ length: 20 }, (_, index) =>
          stage.newJob(queue, {
            idempotency:
              how === 'with a key' ? { key: `${queue}-${index}`, inputHash: 'a'.repeat(64) } : null,
            after: how === 'with a parent' ? { ids: [parent.id], onFailure: 'bury' } : null,
          }),
        );
        await stage.storage.enqueue(jobs);
        const claimed = await stage.claim(queue);
        const [settled, ...repeats] = await Promise.all([
          mine.settle(claimed.map((job) => settlement(job))),
          ...jobs.map((job) => theirs.enqueue([job])),
        ]);
        expect(new Set(settled)).toEqual(new Set(['done']));
        expect(new Set(repeats.flat().map(({ outcome }) => outcome))).toEqual(new Set(['replayed']));
        expect(await stage.stats(queue)).toMatchObject({ pending: 0, completed: 21 });
      });
    });
  }

  test('a retry and a repeat of its dispatch: there is one job', async () => {
    await race(async (queue, mine, theirs) => {
      const job = stage.newJob(queue);
      await stage.offer(job);
      await stage.settle(await stage.claimOne(queue), buried);
      const [retried, [outcome]] = await Promise.all([mine.retry(job.id), theirs.enqueue([job])]);
      expect([retried, outcome?.outcome]).toEqual(['done', 'replayed']);
      expect(await stage.allJobs({ queue })).toHaveLength(1);
    });
  });

  test('a parent that is deleted and a dependent that is dispatched: it is refused, or follows', async () => {
    await race(async (queue, mine, theirs) => {
      const parent = await stage.add(queue);
      const child = stage.newJob(queue, { after: { ids: [parent], onFailure: 'cancel' } });
      const [deleted, [outcome]] = await Promise.all([mine.delete(parent), theirs.enqueue([child])]);
      expect(deleted).toBe('done');
      const [status] = await stage.statuses([child.id]);
      expect([outcome?.outcome, status]).toEqual(
        outcome?.outcome === 'created' ? ['created', 'cancelled'] : ['parent-not-found', 'unknown'],
      );
    });
  });

  test('a parent that is purged and a dependent that is dispatched: it is refused, or keeps its parent', async () => {
    await race(async (queue, mine, theirs) => {
      const parent = await stage.ended(queue, done);
      const child = stage.newJob(queue, { after: { ids: [parent.id], onFailure: 'cancel' } });
      const [, [outcome]] = await Promise.all([
        mine.purge({ statuses: ['completed'], olderThanMs: 0, limit: 1_000 }),
        theirs.enqueue([child]),
      ]);
      expect([outcome?.outcome, ...(await stage.statuses([parent.id, child.id]))]).toEqual(
        outcome?.outcome === 'created'
          ? ['created', 'completed', 'pending']
          : ['parent-not-found', 'unknown', 'unknown'],
      );
    });
  });

  test('a purge and a retry: the job is gone, or waits again', async () => {
    await race(async (queue, mine, theirs) => {
      const { id } = await stage.ended(queue, buried);
      const [, outcome] = await Promise.all([
        mine.purge({ statuses: ['buried'], olderThanMs: 0, limit: 1_000 }),
        theirs.retry(id),
      ]);
      expect([outcome, ...(await stage.statuses([id]))]).toEqual(
        outcome === 'done' ? ['done', 'pending'] : ['not-found', 'unknown'],
      );
    });
  });

  test('a pause and a claim: what was claimed is held, and nothing after the pause', async () => {
    await race(async (queue, mine, theirs) => {
      await stage.addMany(queue, 3);
      const [, claimed] = await Promise.all([
        mine.setPaused(queue, true),
        theirs.claim(stage.request(queue, { limit: 2 })),
      ]);
      expect(await stage.claim(queue)).toEqual([]);
      expect(await stage.stats(queue)).toMatchObject({
        processing: claimed.length,
        pending: 3 - claimed.length,
      });
    });
  });

  test('a chain cancelled from both ends falls whole, and no call is lost to the other', async () => {
    await race(async (queue, mine, theirs) => {
      const jobs = stage.newJobs(queue, 6, { due: { inMs: HOUR } });
      const chain = jobs.map((job, index) => {
        const parent = jobs[index - 1];
        return parent === undefined
          ? job
          : { ...job, after: { ids: [parent.id], onFailure: 'bury' } as const };
      });
      await stage.storage.enqueue(chain);
      const [first, , , middle, , last] = jobs;
      const outcomes = await Promise.all([
        mine.cancel(first?.id ?? ''),
        theirs.cancel(last?.id ?? ''),
        theirs.cancel(middle?.id ?? ''),
      ]);
      expect(outcomes[0]).toBe('done');
      expect(outcomes.every((outcome) => outcome === 'done' || outcome === 'already-final')).toBe(true);
      const { buried: fallen, cancelled, pending, blocked } = await stage.stats(queue);
      expect([fallen + cancelled, pending, blocked]).toEqual([6, 0, 0]);
      expect(cancelled).toBe(outcomes.filter((outcome) => outcome === 'done').length);
    });
  });

  test('everything at once on a few jobs: no call fails, and every job comes to an end', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    const ids = await stage.addMany(queue, 12);
    await stage.addMany(queue, 12, { after: { ids: ids.slice(0, 4), onFailure: 'run' } });
    const churn = async (storage: Storage, own: number): Promise<void> => {
      for (let round = 0; round < 8; round += 1) {
        const claimed = await storage.claim(stage.request(queue, { limit: 5 }));
        const id = ids[(own * 5 + round) % ids.length] ?? '';
        await Promise.all([
          storage.settle(claimed.map((job, index) => settlement(job, index % 3 ? done : buried))),
          round % 2 ? storage.retry(id) : storage.bury(id),
          storage.renew(stage.incarnation(), LEASE),
          storage.retryBuried({ queue, limit: 3 }),
        ]);
      }
    };
    await Promise.all([0, 1, 2, 3].map((own) => churn(own % 2 ? stage.storage : other.storage, own)));
    await drain(stage, queue);
    expect(await stage.stats(queue)).toMatchObject({ pending: 0, blocked: 0, processing: 0 });
  });
}

async function drain(stage: Stage, queue: string): Promise<void> {
  stage.advance(LEASE + MINUTE);
  const leases = await stage.expired(queue);
  await stage.storage.takeBack(leases.map((lease) => ({ ...lease, kind: 'lapsed' })));
  stage.advance(SECOND);
  for (;;) {
    const claimed = await stage.claim(queue);
    if (claimed.length === 0) return;
    await stage.storage.settle(claimed.map((job) => settlement(job)));
  }
}
