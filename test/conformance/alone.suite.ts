import { expect, test } from 'vitest';
import { failure, LEASE, MINUTE, SECOND, type Stage } from './stage.js';

export function aloneSuite(stage: Stage): void {
  test('a job that must run alone is taken only by a claim for it, one at a time', async () => {
    const queue = stage.queue();
    const [one, two] = [await makeAlone(stage, queue), await makeAlone(stage, queue)];
    const plain = await stage.add(queue, { priority: -100 });
    stage.advance(MINUTE);
    expect(await stage.claimIds(queue)).toEqual([plain]);
    expect(await stage.claimIds(queue, { alone: true, limit: 5 })).toEqual([one]);
    expect(await stage.claimIds(queue, { alone: true, limit: 5 })).toEqual([two]);
    expect(await stage.claimIds(queue, { alone: true, limit: 5 })).toEqual([]);
  });

  test('a claim for a job that must run alone takes no other', async () => {
    const queue = stage.queue();
    await stage.add(queue);
    expect(await stage.claim(queue, { alone: true })).toEqual([]);
  });

  test('a job that must run alone keeps to names, queue order and pause', async () => {
    const [first, second] = [stage.queue(), stage.queue()];
    const later = await makeAlone(stage, second);
    const sooner = await makeAlone(stage, first);
    stage.advance(MINUTE);
    const both = [first, second];
    expect(await stage.claim(both, { alone: true, names: ['other'] })).toEqual([]);
    await stage.storage.setPaused(first, true);
    expect(await stage.claimIds(both, { alone: true })).toEqual([later]);
    await stage.storage.setPaused(first, false);
    expect(await stage.claimIds(both, { alone: true })).toEqual([sooner]);
  });
}

/** A job that died twice in company; due again after a second. */
async function makeAlone(stage: Stage, queue: string): Promise<string> {
  const { id } = await stage.running(queue);
  const lease = await lapseOf(stage, queue, id);
  await stage.storage.takeBack([
    { ...lease, kind: 'died', delayMs: SECOND, alone: true, errors: failure('died') },
  ]);
  return id;
}

async function lapseOf(stage: Stage, queue: string, id: string) {
  stage.advance(LEASE + SECOND);
  const lease = (await stage.expired(queue)).find((expired) => expired.id === id);
  if (lease === undefined) throw new Error(`the lease of ${id} has not ended`);
  return { id, token: lease.token, leaseUntilMs: lease.leaseUntilMs };
}
