import { describe, expect, it } from 'vitest';
import type { LaneKind } from '../../core/lane-kind.js';
import type { ClaimedJob } from '../../storage/claimed-job.js';
import { ClaimPlan, type ClaimPlanOptions, type PlannedClaim } from './claim-plan.js';
import type { QueueOrder, Room } from './queue-order.js';
import { ShareOrder } from './share-order.js';
import { StrictOrder } from './strict-order.js';

const namesOf: Record<LaneKind, readonly string[]> = { inline: ['mail'], process: ['film'], browser: [] };

function planOf(orders: Partial<Record<LaneKind, QueueOrder>>, options: Partial<ClaimPlanOptions> = {}) {
  const rooms: Partial<Record<LaneKind, Room | null>> = {};
  const sizes: Partial<Record<LaneKind, number>> = { inline: 2, process: 2 };
  const kinds = Object.entries(orders).map(([kind, order]) => ({
    kind: kind as LaneKind,
    order,
    room: () => rooms[kind as LaneKind] ?? null,
    names: () => namesOf[kind as LaneKind],
    isServing: () => (sizes[kind as LaneKind] ?? 0) > 0,
  }));
  const plan = new ClaimPlan({
    kinds,
    kindOf: (name) => (name === 'film' ? 'process' : 'inline'),
    isClosed: () => false,
    lone: () => null,
    ...options,
  });
  return { plan, rooms, sizes };
}

const jobs = (...list: [name: string, queue: string][]): ClaimedJob[] =>
  list.map(([name, queue]) => ({ name, queue }) as ClaimedJob);
const mails = (count: number, queue = 'a'): ClaimedJob[] =>
  jobs(...Array.from({ length: count }, (): [string, string] => ['mail', queue]));
const next = (plan: ClaimPlan, withResults = false): PlannedClaim => {
  const claim = plan.next(withResults);
  if (claim === null) throw new Error('expected a claim');
  return claim;
};

describe('what a worker claims', () => {
  it('is one part for each kind of slot with room, with the names of that kind', () => {
    const { plan, rooms } = planOf({
      inline: new StrictOrder(['a', 'b']),
      process: new StrictOrder(['a', 'b']),
    });
    expect(plan.wants).toBe(false);
    rooms.inline = { limit: 10, start: 2 };
    rooms.process = { limit: 1, start: 1 };
    expect(next(plan).takes).toEqual([
      { queues: ['a', 'b'], names: ['mail'], limit: 10, start: 2 },
      { queues: ['a', 'b'], names: ['film'], limit: 1, start: 1 },
    ]);
  });

  it('leaves a kind alone that had nothing, until a wake-up or results go along', () => {
    const { plan, rooms } = planOf({ inline: new StrictOrder(['a']), process: new StrictOrder(['a']) });
    rooms.inline = { limit: 2, start: 2 };
    rooms.process = { limit: 2, start: 2 };
    plan.learn(next(plan), mails(2));
    expect(plan.isDry).toBe(false);
    expect(next(plan).takes.map(({ names }) => names)).toEqual([['mail']]);
    expect(next(plan, true).takes).toHaveLength(2);
    plan.learn(next(plan), []);
    expect([plan.wants, plan.isDry, plan.isEmpty]).toEqual([false, true, true]);
    plan.wake(['a']);
    expect(next(plan).takes).toHaveLength(2);
  });

  it('asks again for free slots where only the buffer went short', () => {
    const { plan, rooms } = planOf({ inline: new StrictOrder(['a']) });
    rooms.inline = { limit: 100, start: 2 };
    plan.learn(next(plan), mails(2));
    expect([plan.isDry, plan.isEmpty]).toEqual([true, false]);
    rooms.inline = { limit: 98, start: 0 };
    expect(plan.wants).toBe(false);
    rooms.inline = { limit: 99, start: 1 };
    expect(next(plan).takes).toMatchObject([{ limit: 1, start: 1 }]);
    plan.learn(next(plan), []);
    expect(plan.isEmpty).toBe(true);
  });

  it('does not forget a wake-up that came while the claim was on its way', () => {
    const { plan, rooms } = planOf({ inline: new StrictOrder(['a']) });
    rooms.inline = { limit: 2, start: 2 };
    const claim = next(plan);
    plan.wake(['a']);
    plan.learn(claim, []);
    expect(plan.wants).toBe(true);
  });

  it('does not wait for jobs of a kind of which no slot is left', () => {
    const { plan, rooms, sizes } = planOf({
      inline: new StrictOrder(['a']),
      process: new StrictOrder(['a']),
    });
    rooms.inline = { limit: 2, start: 2 };
    plan.learn(next(plan), []);
    expect(plan.isEmpty).toBe(false);
    sizes.process = 0;
    expect(plan.isEmpty).toBe(true);
    expect(plan.peek().map(({ names }) => names)).toEqual([['mail']]);
  });

  it('is one job of any kind when that must run alone, and nothing while room is made for it', () => {
    let lone: 'claim' | 'wait' | null = 'wait';
    const orders = { inline: new StrictOrder(['a']), process: new StrictOrder(['a']) };
    const { plan, rooms } = planOf(orders, { lone: () => lone });
    rooms.inline = { limit: 2, start: 2 };
    expect(plan.next(true)).toBe(null);
    lone = 'claim';
    expect(next(plan)).toMatchObject({
      alone: true,
      takes: [{ queues: ['a'], names: ['mail', 'film'], limit: 1, start: 1 }],
    });
  });
});

describe('shares of queues', () => {
  const shares = (weights: Record<string, number>, now = () => 0): ShareOrder =>
    new ShareOrder({ weights: Object.entries(weights), forgetMs: 1_000, now });

  it('are parts of a claim, each with its limit', () => {
    const { plan, rooms } = planOf({ inline: shares({ a: 6, b: 3, c: 1 }) });
    rooms.inline = { limit: 10, start: 10 };
    expect(next(plan).takes.map(({ queues, limit }) => [queues, limit])).toEqual([
      [['a'], 6],
      [['b'], 3],
      [['c'], 1],
    ]);
  });

  it('give what a queue leaves to the others by the next claim', () => {
    const { plan, rooms } = planOf({ inline: shares({ a: 6, b: 3, c: 1 }) });
    rooms.inline = { limit: 10, start: 10 };
    plan.learn(next(plan), [...mails(6, 'a'), ...mails(1, 'c')]);
    expect(
      next(plan)
        .takes.flatMap(({ queues }) => queues)
        .sort(),
    ).toEqual(['a', 'c']);
    plan.wake(['b']);
    expect(
      next(plan)
        .takes.flatMap(({ queues }) => queues)
        .sort(),
    ).toEqual(['a', 'b', 'c']);
  });

  it('let queues without a part of their own have what the others leave, in the same claim', () => {
    const { plan, rooms } = planOf({ inline: shares({ a: 1, b: 1, c: 1 }) });
    rooms.inline = { limit: 1, start: 1 };
    expect(next(plan).takes).toMatchObject([{ queues: ['a', 'b', 'c'], limit: 1 }]);
    plan.learn(next(plan), mails(1, 'b'));
    // What stood before b had nothing; b has had its turn.
    expect(next(plan).takes).toMatchObject([{ queues: ['c', 'b'], limit: 1 }]);
  });

  it('never make more parts than storage takes, however many queues there are', () => {
    const weights = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`q${index}`, 1]));
    const { plan, rooms } = planOf({ inline: shares(weights), process: shares(weights) });
    rooms.inline = { limit: 500, start: 10 };
    rooms.process = { limit: 2, start: 2 };
    const { takes } = next(plan);
    expect(takes.length).toBeLessThanOrEqual(16);
    const inline = takes.filter(({ names }) => names.includes('mail'));
    expect(inline.flatMap(({ queues }) => queues)).toHaveLength(100);
    expect(new Set(inline.flatMap(({ queues }) => queues)).size).toBe(100);
    expect(inline.reduce((sum, { limit }) => sum + limit, 0)).toBe(500);
    expect(inline.reduce((sum, { start }) => sum + start, 0)).toBe(10);
  });

  it('look again after a while at a queue that had nothing, without a wake-up', () => {
    let now = 0;
    const { plan, rooms } = planOf({ inline: shares({ a: 1, b: 1 }, () => now) });
    rooms.inline = { limit: 2, start: 2 };
    plan.learn(next(plan), mails(1, 'a'));
    expect(next(plan).takes.flatMap(({ queues }) => queues)).toEqual(['a']);
    now = 1_000;
    expect(
      next(plan)
        .takes.flatMap(({ queues }) => queues)
        .sort(),
    ).toEqual(['a', 'b']);
  });
});
