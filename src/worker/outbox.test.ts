import { expect, it } from 'vitest';
import { Outbox } from './outbox.js';

const entry = (id: string) => ({
  settlement: { id, token: 't', kind: 'completed', result: null } as const,
  job: null,
  durationMs: 0,
});

it('keeps what is in flight until it is acknowledged, and gathers meanwhile', () => {
  const outbox = new Outbox();
  outbox.add(entry('a'));
  outbox.add(entry('b'));
  outbox.add(entry('c'));
  expect(outbox.take(2).map(({ settlement }) => settlement.id)).toEqual(['a', 'b']);
  outbox.add(entry('d'));
  expect([...outbox.ids()]).toEqual(['a', 'b', 'c', 'd']);
  expect([outbox.size, outbox.waiting]).toEqual([4, 2]);
  outbox.acknowledge();
  expect([...outbox.ids()]).toEqual(['c', 'd']);
});
