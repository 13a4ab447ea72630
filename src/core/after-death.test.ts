import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DeadLease, decideAfterDeath } from './after-death.js';
import { defaultBackoff } from './backoff.js';

const inCompany: DeadLease = {
  isStarted: true,
  deaths: 0,
  ranAlone: false,
  stopRequest: null,
  backoff: defaultBackoff,
};

function decide(lease: DeadLease) {
  return decideAfterDeath(lease, () => 1);
}

describe('decideAfterDeath', () => {
  it('puts back a job that had not started, without a death', () => {
    expect(decide({ ...inCompany, isStarted: false })).toEqual({ kind: 'put-back' });
    expect(decide({ ...inCompany, isStarted: false, deaths: 9, ranAlone: true })).toEqual({
      kind: 'put-back',
    });
  });

  it('retries after a backoff, and alone after two deaths', () => {
    expect(decide(inCompany)).toEqual({ kind: 'retry', deaths: 1, delayMs: 5000, alone: false });
    expect(decide({ ...inCompany, deaths: 1 })).toEqual({
      kind: 'retry',
      deaths: 2,
      delayMs: 10_000,
      alone: true,
    });
  });

  it('buries as poison at the third death, alone', () => {
    expect(decide({ ...inCompany, deaths: 2, ranAlone: true })).toEqual({
      kind: 'buried',
      deaths: 3,
      poison: true,
    });
    expect(decide({ ...inCompany, deaths: 7, ranAlone: true })).toEqual({
      kind: 'buried',
      deaths: 8,
      poison: true,
    });
  });

  it('does not bury at the first or second death, though alone', () => {
    expect(decide({ ...inCompany, ranAlone: true })).toMatchObject({ kind: 'retry', alone: false });
    expect(decide({ ...inCompany, deaths: 1, ranAlone: true })).toMatchObject({ kind: 'retry', alone: true });
  });

  it('never blames a job that died in company, whatever its number of deaths', () => {
    fc.assert(
      fc.property(fc.nat(1000), (deaths) => {
        const decision = decide({ ...inCompany, deaths });
        expect(decision).toMatchObject({ kind: 'retry', deaths: deaths + 1, alone: deaths + 1 >= 2 });
      }),
    );
  });

  it.each([
    ['cancel', { kind: 'cancelled', deaths: 3 }],
    ['delete', { kind: 'deleted', deaths: 3 }],
    ['bury', { kind: 'buried', deaths: 3, poison: false }],
  ] as const)('does what an operator had asked for: %s', (stopRequest, decision) => {
    expect(decide({ ...inCompany, deaths: 2, ranAlone: true, stopRequest })).toEqual(decision);
    expect(decide({ ...inCompany, deaths: 3, isStarted: false, stopRequest })).toEqual(decision);
  });
});
