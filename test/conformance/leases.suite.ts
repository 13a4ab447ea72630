import { expect, test } from 'vitest';
import { done, expectAbout, LEASE, SECOND, type Stage, sorted } from './stage.js';

export function leasesSuite(stage: Stage): void {
  test('a job that was buffered is marked started when it starts', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 2);
    const [one, two] = await stage.claim(queue, { start: 0 });
    if (!one || !two) throw new Error('two jobs');
    expect(await stage.storage.markStarted([one])).toEqual([]);
    expect((await stage.record(one.id)).started).toBe(true);
    expect((await stage.record(two.id)).started).toBe(false);
    expect(await stage.storage.markStarted([one])).toEqual([]);
  });

  test('marking started answers which leases are lost, and marks the rest', async () => {
    const queue = stage.queue();
    await stage.addMany(queue, 3);
    const [mine, ended, retaken] = await stage.claim(queue, { start: 0 });
    if (!mine || !ended || !retaken) throw new Error('three jobs');
    await stage.settle(ended, done);
    await stage.settle(retaken, { kind: 'put-back', delayMs: 0, reason: 'drain' });
    await stage.claim(queue, { start: 0 });
    const never = { id: stage.newJob(queue).id, token: mine.token };
    expect(sorted(await stage.storage.markStarted([ended, retaken, mine, never]))).toEqual(
      sorted([ended.id, retaken.id, never.id]),
    );
    expect((await stage.record(mine.id)).started).toBe(true);
    expect((await stage.record(retaken.id)).started).toBe(false);
    expect(await stage.storage.markStarted([])).toEqual([]);
  });

  test('a renewal extends all that the incarnation holds, and nothing else', async () => {
    const queue = stage.queue();
    const incarnation = stage.incarnation();
    await stage.addMany(queue, 4);
    const mine = [
      ...(await stage.claim(queue, { limit: 2, token: stage.token(incarnation) })),
      ...(await stage.claim(queue, { limit: 1, token: stage.token(incarnation) })),
    ];
    const other = await stage.claimOne(queue, { token: stage.token(neighbour(incarnation)) });
    stage.advance(30 * SECOND);
    const now = await stage.storage.now();
    const renewed = await stage.storage.renew(incarnation, LEASE);
    expect(sorted(renewed.map(({ id }) => id))).toEqual(sorted(mine.map(({ id }) => id)));
    for (const { id, token } of mine) {
      expect(renewed).toContainEqual({ id, token, stopRequest: null });
      expectAbout((await stage.record(id)).leaseUntilMs, now + LEASE);
    }
    expectAbout((await stage.record(other.id)).leaseUntilMs, now + LEASE - 30 * SECOND);
  });

  test('a lease is renewed a hundred times without anyone taking the job', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    for (let round = 0; round < 100; round += 1) {
      stage.advance(LEASE - SECOND);
      expect(await stage.storage.renew(job.token.slice(0, 16), LEASE)).toHaveLength(1);
    }
    expect(await stage.expired(queue)).toEqual([]);
    expect(await stage.settle(job, done)).toBe('done');
  });

  test('a renewal also saves a lease past its end that nobody took back', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const seen = await stage.lapse(queue);
    expect(await stage.storage.renew(job.token.slice(0, 16), LEASE)).toHaveLength(1);
    expect(await stage.expired(queue)).toEqual([]);
    expect(await stage.storage.takeBack([{ ...seen, kind: 'lapsed' }])).toEqual(['renewed']);
    expect((await stage.record(job.id)).status).toBe('processing');
  });

  test('a renewal that was repeated answers the same', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const incarnation = job.token.slice(0, 16);
    const first = await stage.storage.renew(incarnation, LEASE);
    expect(await stage.storage.renew(incarnation, LEASE)).toEqual(first);
  });

  test('what an incarnation holds is answered without extending it', async () => {
    const queue = stage.queue();
    const job = await stage.running(queue);
    const incarnation = job.token.slice(0, 16);
    const { leaseUntilMs } = await stage.record(job.id);
    stage.advance(20 * SECOND);
    expect(await stage.storage.held(incarnation)).toEqual([
      { id: job.id, token: job.token, stopRequest: null },
    ]);
    expect((await stage.record(job.id)).leaseUntilMs).toBe(leaseUntilMs);
    await stage.settle(job, done);
    expect(await stage.storage.held(incarnation)).toEqual([]);
    expect(await stage.storage.renew(incarnation, LEASE)).toEqual([]);
  });

  test('a first worker whose job was reclaimed can neither end, mark, log nor renew it', async () => {
    const queue = stage.queue();
    const first = await stage.running(queue);
    await stage.storage.takeBack([{ ...(await stage.lapse(queue)), kind: 'lapsed' }]);
    const second = await stage.claimOne(queue);
    expect(second.id).toBe(first.id);
    expect(await stage.storage.renew(first.token.slice(0, 16), LEASE)).toEqual([]);
    expect(await stage.storage.held(first.token.slice(0, 16))).toEqual([]);
    expect(await stage.storage.markStarted([first])).toEqual([first.id]);
    await stage.storage.appendLog([
      { id: first.id, token: first.token, seq: 1, kind: 'log', level: 'info', text: 'x' },
    ]);
    expect(await stage.storage.log(first.id, { limit: 10 })).toEqual([]);
    expect(await stage.settle(first, done)).toBe('lease-lost');
    expect(await stage.settle(second, done)).toBe('done');
  });
}

/** An incarnation as near as can be, to catch a prefix that is compared too loosely. */
function neighbour(incarnation: string): string {
  const last = incarnation.at(-1) === '0' ? '1' : '0';
  return incarnation.slice(0, -1) + last;
}
