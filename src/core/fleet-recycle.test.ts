import { describe, expect, test } from 'vitest';
import {
  type FleetMember,
  type FleetStep,
  mostAwayOf,
  type SeenWorker,
  stepFleetRecycle,
} from './fleet-recycle.js';

const plan = { mostAway: 2, drainWithinMs: 1_000, returnWithinMs: 100 };
const fleet = (count: number): FleetMember[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `w-${index}`,
    incarnation: 'old',
    phase: 'waiting',
    sinceMs: 0,
  }));
const seen = (id: string, of: Partial<SeenWorker> = {}): SeenWorker => ({
  id,
  incarnation: 'old',
  state: 'RUNNING',
  alive: true,
  adminState: 'active',
  ...of,
});
const phases = ({ members }: FleetStep): string[] => members.map(({ phase }) => phase);

describe('how many may be away at once', () => {
  test.each([
    [4, { share: 0.25 }, 1],
    [3, { share: 0.25 }, 1],
    [8, { share: 0.25 }, 2],
    [10, { share: 0.1 * 3 }, 3],
    [5, { share: 1 }, 5],
    [5, 3, 3],
  ])('%i workers and %j: %i', (workers, unavailable, expected) => {
    expect(mostAwayOf(workers, unavailable)).toBe(expected);
  });
});

describe('a step of a fleet’s recycle', () => {
  test('asks no more than may be away, and the next ones only when those are back', () => {
    const all = ['w-0', 'w-1', 'w-2'].map((id) => seen(id));
    const first = stepFleetRecycle(plan, fleet(3), all, 0);
    expect(first).toMatchObject({ ask: ['w-0', 'w-1'], outcome: 'going', stop: null });
    const still = stepFleetRecycle(plan, first.members, all, 10);
    expect(still.ask).toEqual([]);
    const gone = [seen('w-0', { alive: false }), seen('w-1'), seen('w-2')];
    const away = stepFleetRecycle(plan, still.members, gone, 20);
    expect(phases(away)).toEqual(['away', 'asked', 'waiting']);
    const back = [seen('w-0', { incarnation: 'new' }), seen('w-1'), seen('w-2')];
    const next = stepFleetRecycle(plan, away.members, back, 30);
    expect(phases(next)).toEqual(['back', 'asked', 'asked']);
    expect(next.ask).toEqual(['w-2']);
    const end = stepFleetRecycle(
      plan,
      next.members,
      ['w-1', 'w-2'].map((id) => seen(id, { incarnation: 'new' })),
      40,
    );
    expect(end).toMatchObject({ outcome: 'done', ask: [] });
  });

  test('the next incarnation counts once it runs, not once it has registered', () => {
    const members: FleetMember[] = [{ id: 'w-0', incarnation: 'old', phase: 'asked', sinceMs: 0 }];
    const starting = stepFleetRecycle(
      plan,
      members,
      [seen('w-0', { incarnation: 'new', state: 'REGISTER' })],
      5,
    );
    expect(phases(starting)).toEqual(['away']);
    const drained = seen('w-0', { incarnation: 'new', state: 'DRAINING', adminState: 'drain' });
    expect(stepFleetRecycle(plan, starting.members, [drained], 6).outcome).toBe('done');
  });

  test('stops when one is not back in time, and asks nobody else', () => {
    const members: FleetMember[] = [
      { id: 'w-0', incarnation: 'old', phase: 'away', sinceMs: 0 },
      { id: 'w-1', incarnation: 'old', phase: 'waiting', sinceMs: 0 },
    ];
    const now = [seen('w-0', { alive: false }), seen('w-1')];
    expect(stepFleetRecycle(plan, members, now, 99)).toMatchObject({ outcome: 'going', ask: ['w-1'] });
    expect(stepFleetRecycle(plan, members, now, 100)).toMatchObject({
      outcome: 'stopped',
      ask: [],
      stop: { reason: 'not-back', id: 'w-0' },
    });
  });

  test('stops when one does not get done with what it runs', () => {
    const members: FleetMember[] = [{ id: 'w-0', incarnation: 'old', phase: 'asked', sinceMs: 0 }];
    expect(stepFleetRecycle(plan, members, [seen('w-0', { state: 'DRAINING' })], 999).outcome).toBe('going');
    expect(stepFleetRecycle(plan, members, [seen('w-0', { state: 'DRAINING' })], 1_000).stop).toEqual({
      reason: 'still-drains',
      id: 'w-0',
    });
  });

  test('one that ends by itself before its turn has left, one that was replaced before is back', () => {
    const step = stepFleetRecycle(
      plan,
      fleet(3),
      [seen('w-0', { alive: false }), seen('w-1', { incarnation: 'new' }), seen('w-2')],
      0,
    );
    expect(phases(step)).toEqual(['left', 'back', 'asked']);
  });

  test('an empty view of a fleet that was there changes nothing', () => {
    const members: FleetMember[] = [{ id: 'w-0', incarnation: 'old', phase: 'away', sinceMs: 0 }];
    expect(stepFleetRecycle(plan, members, [], 10_000)).toEqual({
      members,
      ask: [],
      outcome: 'going',
      stop: null,
    });
  });
});
