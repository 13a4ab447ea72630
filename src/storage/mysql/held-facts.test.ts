import { describe, expect, it } from 'vitest';
import { type Facts, HeldFacts } from './held-facts.js';

const tokenOf = (n: number): string => n.toString(16).padStart(32, '0');
const factsOf = (token: string, due = 1): Facts => ({
  token,
  queueId: 1,
  nameId: 1,
  due,
  claimedAt: 1,
  workerId: 1,
  flags: 0,
  retentionMs: null,
});

describe('what is remembered of leases', () => {
  it('is found by id and token, in whatever order it is asked for', () => {
    const held = new HeldFacts();
    const ids = ['a', 'b', 'c', 'd'];
    for (const [index, id] of ids.entries()) held.keep(id, factsOf(tokenOf(1), index));
    for (const id of ['c', 'a', 'b', 'd', 'd'])
      expect(held.get(id, tokenOf(1))?.due, id).toBe(ids.indexOf(id));
    expect(held.get('a', tokenOf(2))).toBeUndefined();
    expect(held.get('e', tokenOf(1))).toBeUndefined();
  });

  it('is gone once dropped, and only that', () => {
    const held = new HeldFacts();
    for (const id of ['a', 'b']) held.keep(id, factsOf(tokenOf(1)));
    held.drop('a', tokenOf(1));
    held.drop('a', tokenOf(1));
    expect(held.get('a', tokenOf(1))).toBeUndefined();
    expect(held.get('b', tokenOf(1))).toBeDefined();
    held.keep('a', factsOf(tokenOf(1), 7));
    expect(held.get('a', tokenOf(1))?.due).toBe(7);
  });

  it('is replaced when it is kept again', () => {
    const held = new HeldFacts();
    held.keep('a', factsOf(tokenOf(1), 1));
    held.keep('a', factsOf(tokenOf(1), 2));
    expect(held.get('a', tokenOf(1))?.due).toBe(2);
    held.drop('a', tokenOf(1));
    expect(held.get('a', tokenOf(1))).toBeUndefined();
  });

  it('gives up the oldest claims beyond its bound', () => {
    const held = new HeldFacts();
    for (let n = 0; n < 30; n += 1) {
      for (let job = 0; job < 1_000; job += 1) held.keep(`${n}-${job}`, factsOf(tokenOf(n)));
    }
    expect(held.get('0-0', tokenOf(0))).toBeUndefined();
    expect(held.get('29-999', tokenOf(29))).toBeDefined();
  });
});
