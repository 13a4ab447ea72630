import { expect, it } from 'vitest';
import type { Take } from '../../storage/claimed-job.js';
import { ToldRoom } from './told-room.js';

const take = (start: number, limit = start, names = ['a']): Take => ({ queues: ['q'], names, limit, start });
const job = (name = 'a', started = true) => ({ name, queue: 'q', started });

it('is told once, and again when slots are freed or taken by something else', () => {
  const told = new ToldRoom();
  expect(told.differs([take(3)])).toBe(true);
  told.tell([take(3)], false);
  expect(told.differs([take(3)])).toBe(false);
  expect(told.differs([take(2)])).toBe(true);
  expect(told.differs([take(4)])).toBe(true);
});

it('counts what came, so that a slot filled by the hub is no news', () => {
  const told = new ToldRoom();
  told.tell([take(3, 5)], false);
  told.got([job(), job()]);
  expect(told.differs([take(1, 3)])).toBe(false);
  told.got([job(), job('a', false)]);
  expect(told.differs([])).toBe(true);
  told.got([job('a', false)]);
  expect(told.differs([])).toBe(false);
});

it('does not care for a place more in the buffer, but for other names', () => {
  const told = new ToldRoom();
  told.tell([take(2, 2, ['a', 'b'])], false);
  expect(told.differs([take(2, 9, ['a', 'b'])])).toBe(false);
  expect(told.differs([take(2, 2, ['a'])])).toBe(true);
});

it('takes back what stands, once, and what stands for a lone job', () => {
  const told = new ToldRoom();
  expect(told.differs([])).toBe(false);
  told.tell([take(1)], true);
  expect(told.isAlone).toBe(true);
  expect(told.differs([take(1)])).toBe(true);
  told.tell([], false);
  expect(told.differs([])).toBe(false);
});

it('is told anew after a doubt, and stands nowhere on a new connection', () => {
  const told = new ToldRoom();
  told.tell([take(1)], false);
  told.doubt();
  expect(told.differs([take(1)])).toBe(true);
  told.forget();
  expect(told.differs([])).toBe(false);
});
