import { describe, expect, it } from 'vitest';
import { type PlacementCandidate, placementPass } from './placement-order.js';

interface Named extends PlacementCandidate {
  readonly name: string;
}

const worker = (name: string, with_: Partial<PlacementCandidate> = {}): Named => ({
  name,
  slots: 0,
  width: 10,
  buffer: 0,
  isStandby: false,
  ...with_,
});
const steps = (candidates: readonly Named[], most = 100, random = () => 0.5) =>
  placementPass(candidates, most, random).map(({ candidate, limit, start }) => [
    candidate.name,
    limit,
    start,
  ]);

describe('who gets work next', () => {
  it.each<[what: string, candidates: Named[], most: number, expected: (string | number)[][]]>([
    ['nobody, where nobody has room', [worker('a'), worker('b', { isStandby: true })], 10, []],
    [
      'the largest free share first, whatever the number of slots',
      [worker('a', { slots: 4, width: 8 }), worker('b', { slots: 3, width: 3 }), worker('c', { slots: 1 })],
      10,
      [
        ['b', 3, 3],
        ['a', 4, 4],
        ['c', 1, 1],
      ],
    ],
    ['no more for each than the pass gives', [worker('a', { slots: 9 })], 2, [['a', 2, 2]]],
    [
      'a free slot before any buffer',
      [worker('a', { buffer: 50 }), worker('b', { slots: 1, buffer: 5 })],
      10,
      [['b', 1, 1]],
    ],
    [
      'buffers once no slot is free, and nothing starts there',
      [worker('a', { buffer: 5 }), worker('b', { buffer: 8 })],
      10,
      [
        ['b', 8, 0],
        ['a', 5, 0],
      ],
    ],
    [
      'no standby while an active one has a slot',
      [worker('s', { slots: 10, isStandby: true }), worker('a', { slots: 1 })],
      10,
      [['a', 1, 1]],
    ],
    [
      'no standby while an active one has a buffer',
      [worker('s', { slots: 10, isStandby: true }), worker('a', { buffer: 1 })],
      10,
      [['a', 1, 0]],
    ],
    [
      'standby last, and never into its buffer',
      [worker('s', { slots: 2, buffer: 9, isStandby: true }), worker('t', { buffer: 9, isStandby: true })],
      10,
      [['s', 2, 2]],
    ],
  ])('%s', (_what, candidates, most, expected) => {
    expect(steps(candidates, most)).toEqual(expected);
  });

  it('draws among equals', () => {
    const equals = ['a', 'b', 'c'].map((name) => worker(name, { slots: 1 }));
    const draws = [0.9, 0.1, 0.5];
    expect(steps(equals, 1, () => draws.shift() ?? 0).map(([name]) => name)).toEqual(['b', 'c', 'a']);
  });
});
