import { describe, expect, it } from 'vitest';
import { areLanesLost, type LaneWellness } from './lane-steps.js';

const well: LaneWellness = { isQuarantined: false, wasWell: true };
const lost: LaneWellness = { isQuarantined: true, wasWell: true };
const never: LaneWellness = { isQuarantined: true, wasWell: false };

describe('a worker loses its lanes to quarantine', () => {
  it.each([
    ['none there', [], false],
    ['one of one', [lost], true],
    ['one of two, which is half', [lost, well], false],
    ['two of three', [lost, lost, well], true],
    ['two of four, which is half', [lost, lost, well, well], false],
    ['one that never was well', [never], false],
    ['one of two, beside one that never was well', [lost, never], false],
    ['two of three, beside one that never was well', [lost, lost, never], true],
  ])('%s', (_, lanes, expected) => {
    expect(areLanesLost(lanes)).toBe(expected);
  });
});
