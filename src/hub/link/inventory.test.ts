import { describe, expect, it } from 'vitest';
import { Inventory } from './inventory.js';

const lease = (id: string, token = 't1') => ({ id, token, stopRequest: null });

describe('what a hub knows of what a worker holds', () => {
  it('names a lease that storage knows and it does not at the third look in a row, once', () => {
    const inventory = new Inventory();
    const looks = () => inventory.compare([lease('a')], inventory.mark, false);
    expect([looks(), looks()]).toEqual([[], []]);
    expect(looks()).toEqual([{ id: 'a', token: 't1' }]);
    expect(looks()).toEqual([]);
  });

  it('begins anew to count when it is known in between, or a claim was on its way', () => {
    const inventory = new Inventory();
    const look = (isClaiming = false) => inventory.compare([lease('a')], inventory.mark, isClaiming);
    look();
    look();
    expect(look(true)).toEqual([]);
    expect([look(), look()]).toEqual([[], []]);
    inventory.add([lease('a')]);
    expect(look()).toEqual([]);
  });

  it('forgets what storage does not know, but not what was added after it was asked', () => {
    const inventory = new Inventory();
    inventory.add([lease('old')]);
    const { mark } = inventory;
    inventory.add([lease('new')]);
    inventory.compare([], mark, false);
    expect([inventory.has(lease('old')), inventory.has(lease('new'))]).toEqual([false, true]);
  });

  it('takes another token of the same job for another lease', () => {
    const inventory = new Inventory();
    inventory.add([lease('a', 't1')]);
    inventory.remove([lease('a', 't0')]);
    expect(inventory.has(lease('a', 't1'))).toBe(true);
    inventory.add([lease('a', 't2')]);
    expect(inventory.has(lease('a', 't1'))).toBe(false);
  });
});
