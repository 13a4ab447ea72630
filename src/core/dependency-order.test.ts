import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findCycle } from './dependency-order.js';

function edges(...texts: string[]) {
  return texts.map((text) => {
    const [child = '', parent = ''] = text.split('>');
    return { child, parent };
  });
}

describe('findCycle', () => {
  it.each([
    ['nothing', edges(), null],
    ['a chain', edges('c>b', 'b>a'), null],
    ['a diamond', edges('d>b', 'd>c', 'b>a', 'c>a'), null],
    ['a job that waits for itself', edges('a>a'), ['a', 'a']],
    ['two that wait for each other', edges('a>b', 'b>a'), ['a', 'b', 'a']],
    ['a circle behind a tail', edges('x>a', 'a>b', 'b>c', 'c>a'), ['a', 'b', 'c', 'a']],
    ['a circle beside a diamond', edges('d>b', 'd>c', 'b>a', 'c>a', 'a>d'), ['d', 'b', 'a', 'd']],
  ])('answers for %s', (_, list, cycle) => {
    expect(findCycle(list)).toEqual(cycle);
  });

  it('walks a chain of 100,000 without overflowing the stack', () => {
    const chain = Array.from({ length: 100_000 }, (_, index) => ({
      child: `${index + 1}`,
      parent: `${index}`,
    }));
    expect(findCycle(chain)).toBeNull();
    expect(findCycle([...chain, { child: '0', parent: '100000' }])).toHaveLength(100_002);
  });

  it('finds a circle exactly when no order of the jobs exists, and answers a real one', () => {
    const node = fc.integer({ min: 0, max: 7 }).map(String);
    fc.assert(
      fc.property(fc.array(fc.record({ child: node, parent: node }), { maxLength: 14 }), (list) => {
        const cycle = findCycle(list);
        expect(cycle === null).toBe(canBeOrdered(list));
        if (cycle === null) return;
        expect(cycle.at(0)).toBe(cycle.at(-1));
        for (let index = 1; index < cycle.length; index += 1) {
          expect(list).toContainEqual({ child: cycle[index - 1], parent: cycle[index] });
        }
      }),
    );
  });
});

/** Kahn's way: take away what waits for nothing until nothing is left, or nothing can be taken. */
function canBeOrdered(list: readonly { child: string; parent: string }[]): boolean {
  let rest = [...list];
  for (;;) {
    const waiting = new Set(rest.map(({ child }) => child));
    const next = rest.filter(({ parent }) => waiting.has(parent));
    if (next.length === rest.length) return rest.length === 0;
    rest = next;
  }
}
