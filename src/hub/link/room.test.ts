import { describe, expect, it } from 'vitest';
import { Room } from './room.js';

const take = (limit: number, start = limit, names = ['work'], queues = ['a']) => ({
  queues,
  names,
  limit,
  start,
});
const want = (takes: ReturnType<typeof take>[], after = 0, alone = false) => ({ after, takes, alone });
const job = (name = 'work', queue = 'a', started = true) => ({ name, queue, started });
const open = (room: Room) => room.open.takes.map(({ limit, start }) => [limit, start]);

describe('the room of a worker', () => {
  it('is none before a want, and what the want says after it', () => {
    const room = new Room();
    expect(room.open.takes).toEqual([]);
    room.replace(want([take(5, 2)]));
    expect(open(room)).toEqual([[5, 2]]);
  });

  it('shrinks by what was given, slots by what was noted as started', () => {
    const room = new Room();
    room.replace(want([take(5, 2)]));
    expect(room.give([job(), job('work', 'a', false)])).toBe(1);
    expect(open(room)).toEqual([[3, 1]]);
    room.give([job(), job(), job()]);
    expect(room.open.takes).toEqual([]);
  });

  it('never has more slots than room', () => {
    const room = new Room();
    room.replace(want([take(2, 2)]));
    room.give([job('work', 'a', false)]);
    expect(open(room)).toEqual([[1, 1]]);
  });

  it('takes off a want what its writer had not seen yet, and nothing that it had', () => {
    const room = new Room();
    room.replace(want([take(4)]));
    room.give([job()]);
    room.give([job(), job()]);
    room.replace(want([take(4)], 1));
    expect(open(room)).toEqual([[2, 2]]);
    room.replace(want([take(4)], 2));
    expect(open(room)).toEqual([[4, 4]]);
  });

  it('counts an assign without jobs, so that numbers stay true', () => {
    const room = new Room();
    room.replace(want([take(1)]));
    expect([room.give([]), room.give([job()])]).toEqual([1, 2]);
    room.replace(want([take(1)], 1));
    expect(room.open.takes).toEqual([]);
  });

  it('counts a job against the take of its queue and name, else against that of its name', () => {
    const room = new Room();
    room.replace(
      want([take(2, 2, ['work'], ['a']), take(2, 2, ['work'], ['b']), take(1, 1, ['film'], ['a'])]),
    );
    room.give([job('work', 'b'), job('work', 'gone'), job('film'), job('unheard-of')]);
    expect(open(room)).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('is for one job alone only while nothing was given since', () => {
    const room = new Room();
    room.replace(want([take(1)], 0, true));
    expect(room.open).toMatchObject({ alone: true, takes: [take(1)] });
    room.give([job()]);
    expect(room.open).toMatchObject({ alone: false, takes: [] });
  });

  it('does not stand after its exchange failed, unless a newer want came', () => {
    const room = new Room();
    const failed = want([take(1)]);
    room.replace(failed);
    room.drop(failed);
    expect(room.open.takes).toEqual([]);
    room.replace(failed);
    room.replace(want([take(2)]));
    room.drop(failed);
    expect(open(room)).toEqual([[2, 2]]);
  });
});
