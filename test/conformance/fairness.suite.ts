import { expect, test } from 'vitest';
import type { JobLimit } from '../../src/storage/job-limit.js';
import { MINUTE, SECOND, type Stage } from './stage.js';

export function fairnessSuite(stage: Stage): void {
  const tenant = (group: string, key: string, max: number | null = 100): JobLimit => ({ group, key, max });

  test('keys of a group take turns, however many jobs one has and however old they are', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const a = await stage.addMany(queue, 6, { limit: tenant(group, 'a') });
    stage.advance(MINUTE);
    const b = await stage.addMany(queue, 2, { limit: tenant(group, 'b') });
    const c = await stage.addMany(queue, 1, { limit: tenant(group, 'c') });
    const order = [a[0], b[0], c[0], a[1], b[1], a[2], a[3], a[4], a[5]];
    expect(await stage.claimIds(queue, { limit: 4 })).toEqual(order.slice(0, 4));
    expect(await stage.claimIds(queue, { limit: 1 })).toEqual(order.slice(4, 5));
    expect(await stage.claimIds(queue)).toEqual(order.slice(5));
  });

  test('turns go on from one claim to the next, through another storage', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const a = await stage.addMany(queue, 3, { limit: tenant(group, 'a') });
    stage.advance(SECOND);
    const b = await stage.addMany(queue, 3, { limit: tenant(group, 'b') });
    await using other = await stage.another();
    const taken: string[] = [];
    for (const storage of [stage.storage, other.storage, stage.storage, other.storage]) {
      const claimed = await storage.claim(stage.request(queue, { limit: 1 }));
      taken.push(...claimed.map(({ id }) => id));
      for (const { id, token } of claimed) await stage.settle({ id, token });
    }
    expect(taken).toEqual([a[0], b[0], a[1], b[1]]);
  });

  test('a key that was never served goes first', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    await stage.addMany(queue, 4, { limit: tenant(group, 'a') });
    await stage.addMany(queue, 4, { limit: tenant(group, 'b') });
    await stage.claim(queue, { limit: 3 });
    stage.advance(MINUTE);
    const fresh = await stage.add(queue, { limit: tenant(group, 'fresh') });
    expect(await stage.claimIds(queue, { limit: 1 })).toEqual([fresh]);
  });

  test('inside a key jobs keep their order, whatever they cost', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const later = await stage.add(queue, { limit: tenant(group, 'a'), due: { inMs: 10 * SECOND } });
    const first = await stage.add(queue, { limit: tenant(group, 'a'), cost: 9 });
    const second = await stage.add(queue, { limit: tenant(group, 'a') });
    const third = await stage.add(queue, { limit: tenant(group, 'a', 50) });
    stage.advance(MINUTE);
    expect(await stage.claimIds(queue)).toEqual([first, second, third, later]);
  });

  test('priority goes before turns', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const urgent = await stage.addMany(queue, 3, { limit: tenant(group, 'a'), priority: 10 });
    const b = await stage.add(queue, { limit: tenant(group, 'b') });
    expect(await stage.claimIds(queue)).toEqual([...urgent, b]);
  });

  test('a group stands where its earliest job that can run stands', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const oldest = await stage.addMany(queue, 2, { limit: tenant(group, 'a') });
    await stage.add(queue, { limit: tenant(group, 'b', 1), cost: 3 });
    stage.advance(SECOND);
    const plain = await stage.addMany(queue, 2);
    stage.advance(SECOND);
    const b = await stage.add(queue, { limit: tenant(group, 'b', 1) });
    const claimed = await stage.claim(queue);
    // The one slot of b is taken by its older job, in the second place of the group.
    expect(claimed.map(({ id, cost }) => (cost === 3 ? 'b' : id))).toEqual([
      oldest[0],
      'b',
      oldest[1],
      ...plain,
    ]);
    expect(await stage.record(b)).toMatchObject({ status: 'pending' });
  });

  test('a full key is passed over, and its turn is not used up', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    const a = await stage.addMany(queue, 3, { limit: tenant(group, 'a', 1) });
    stage.advance(SECOND);
    const b = await stage.addMany(queue, 4, { limit: tenant(group, 'b') });
    const [held] = await stage.claim(queue, { limit: 1 });
    expect(held?.id).toBe(a[0]);
    expect(await stage.claimIds(queue, { limit: 2 })).toEqual(b.slice(0, 2));
    await stage.settle(held ?? { id: '', token: '' });
    expect(await stage.claimIds(queue, { limit: 2 })).toEqual([a[1], b[2]]);
  });

  test('ten jobs of one tenant are served among thousands of another', async () => {
    const [queue, group] = [stage.queue(), stage.queue()];
    for (let batch = 0; batch < 2; batch += 1)
      await stage.addMany(queue, 1_000, { limit: tenant(group, 'big') });
    stage.advance(MINUTE);
    const small = await stage.addMany(queue, 10, { limit: tenant(group, 'small') });
    const claimed = await stage.claimIds(queue, { limit: 20 });
    expect(claimed.filter((id) => small.includes(id))).toEqual(small);
  });

  test('different groups do not wait for each other', async () => {
    const queue = stage.queue();
    const [one, two] = [stage.queue(), stage.queue()];
    const first = await stage.addMany(queue, 3, { limit: tenant(one, 'a') });
    const second = await stage.addMany(queue, 3, { limit: tenant(two, 'a') });
    expect(await stage.claimIds(queue)).toEqual([...first, ...second]);
  });
}
