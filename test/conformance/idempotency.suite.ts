import { expect, test } from 'vitest';
import type { NewJob, UniqueScope } from '../../src/storage/new-job.js';
import { done, HOUR, type Stage } from './stage.js';

export function idempotencySuite(stage: Stage): void {
  const unique = (key: string, scope: UniqueScope = 'active', periodMs = scope === 'period' ? HOUR : 0) =>
    ({ unique: { key, scope, periodMs } }) satisfies Partial<NewJob>;
  const idempotency = (key: string, input = 'a') =>
    ({ idempotency: { key, inputHash: input.repeat(64) } }) satisfies Partial<NewJob>;

  test('keys are compared byte by byte', async () => {
    const [base, queue] = [stage.queue(), stage.queue()];
    const long = (base + 'x'.repeat(191)).slice(0, 190);
    const keys = [
      'a',
      'A',
      'a ',
      ' a',
      'á',
      'a\u0301',
      'ß',
      'ss',
      '😀',
      '😁',
      '%',
      '_',
      "'",
      '"',
      '\\',
      '\t',
      'ı',
      'i',
    ];
    const all = [...keys.map((key) => base + key), `${long}a`, `${long}A`];
    for (const key of all) {
      const job = await stage.add(queue, { ...unique(key), ...idempotency(key) });
      expect((await stage.record(job)).uniqueKey).toBe(key);
      expect(await stage.offer(stage.newJob(queue, unique(key)))).toEqual({ outcome: 'duplicate', id: job });
      expect(await stage.offer(stage.newJob(queue, idempotency(key)))).toEqual({
        outcome: 'replayed',
        id: job,
      });
    }
  });

  test('keys of 191 characters of four bytes fit', async () => {
    const key = `${stage.queue()}${'😀'.repeat(200)}`.slice(0, 190);
    const job = await stage.add(stage.queue(), { ...unique(key), ...idempotency(key) });
    expect(await stage.offer(stage.newJob(stage.queue(), idempotency(key)))).toEqual({
      outcome: 'replayed',
      id: job,
    });
    expect((await stage.record(job)).uniqueKey).toBe(key);
  });

  test('a unique key and an idempotency key of the same text have nothing to do with each other', async () => {
    const key = stage.queue();
    await stage.add(stage.queue(), unique(key));
    await stage.add(stage.queue(), idempotency(key));
  });

  test('an idempotency key with the same input is that job, with another a conflict', async () => {
    const key = stage.queue();
    const id = await stage.add(stage.queue(), idempotency(key));
    expect(await stage.offer(stage.newJob(stage.queue(), idempotency(key)))).toEqual({
      outcome: 'replayed',
      id,
    });
    const other = stage.newJob(stage.queue(), idempotency(key, 'b'));
    expect(await stage.offer(other)).toEqual({ outcome: 'idempotency-conflict', id });
    expect(await stage.storage.job(other.id)).toBeNull();
  });

  test('an idempotency key lives as long as the row of its job, final or not', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const { id } = await stage.ended(queue, done, idempotency(key));
    stage.advance(2 * HOUR);
    expect(await stage.offer(stage.newJob(queue, idempotency(key)))).toEqual({ outcome: 'replayed', id });
    await stage.storage.delete(id);
    expect((await stage.offer(stage.newJob(queue, idempotency(key)))).outcome).toBe('created');
  });

  test('two objects at the same instant with one idempotency key make one job', async () => {
    await using other = await stage.another();
    for (let round = 0; round < 8; round += 1) {
      const jobs = stage.newJobs(stage.queue(), 4, idempotency(stage.queue()));
      const outcomes = await Promise.all(
        jobs.map((job, index) => (index % 2 ? stage.storage : other.storage).enqueue([job])),
      );
      expect(outcomes.flat().filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
      expect(new Set(outcomes.flat().map(({ id }) => id)).size).toBe(1);
    }
  });

  test('what stands against a job is looked at in order: id, idempotency key, unique key, parents', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const keyed = await stage.add(queue, { ...unique(`${key}-1`), ...idempotency(key) });
    const holder = await stage.add(queue, unique(`${key}-2`));
    const all = {
      ...unique(`${key}-2`),
      after: { ids: [stage.newJob(queue).id], onFailure: 'bury' },
    } as const;
    const offer = (with_: Partial<NewJob>) => stage.offer(stage.newJob(queue, with_));
    expect(await offer({ ...all, ...idempotency(key, 'b'), id: holder })).toEqual({
      outcome: 'replayed',
      id: holder,
    });
    expect(await offer({ ...all, ...idempotency(key) })).toEqual({ outcome: 'replayed', id: keyed });
    expect(await offer({ ...all, ...idempotency(key, 'b') })).toEqual({
      outcome: 'idempotency-conflict',
      id: keyed,
    });
    expect(await offer(all)).toEqual({ outcome: 'duplicate', id: holder });
  });

  test('a refused dispatch leaves no key behind', async () => {
    const [queue, one, two] = [stage.queue(), stage.queue(), stage.queue()];
    const orphan = { after: { ids: [stage.newJob(queue).id], onFailure: 'bury' } } as const;
    await stage.offer(stage.newJob(queue, { ...unique(one), ...idempotency(one), ...orphan }));
    await stage.add(queue, unique(two));
    await stage.offer(stage.newJob(queue, { ...unique(two), ...idempotency(two) }));
    await stage.add(queue, { ...unique(one), ...idempotency(one) });
    await stage.add(queue, idempotency(two));
  });

  test('five hundred jobs with keys of their own go in one call', async () => {
    const [queue, key] = [stage.queue(), stage.queue()];
    const jobs = Array.from({ length: 500 }, (_, index) =>
      stage.newJob(queue, { ...unique(`${key}-${index}`), ...idempotency(`${key}-${index}`) }),
    );
    expect((await stage.storage.enqueue(jobs)).every(({ outcome }) => outcome === 'created')).toBe(true);
    const again = jobs.map(({ unique }) => stage.newJob(queue, { unique }));
    expect(await stage.storage.enqueue(again)).toEqual(jobs.map(({ id }) => ({ outcome: 'duplicate', id })));
  });
}
