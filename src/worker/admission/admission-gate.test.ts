import { expect, it } from 'vitest';
import { silentLogger } from '../../internal/logger.js';
import { AdmissionGate, type AdmissionGateOptions } from './admission-gate.js';

const MB = 1024 ** 2;
const rules = { memoryHeadroomBytes: 16 * MB, systemMemoryHeadroomBytes: 32 * MB, timeHeadroomMs: 5_000 };
const profiles = {
  small: { averageMs: 10, peakRssBytes: null },
  big: { averageMs: 10_000, peakRssBytes: 300 * MB },
};

function gateWith(options: Partial<AdmissionGateOptions> = {}) {
  const machine = { availableBytes: 4_000 * MB, ownBytes: 100 * MB, nowMs: 0, reads: 0 };
  const gate = new AdmissionGate({
    profiles: {
      of: (name) => profiles[name as keyof typeof profiles] ?? null,
      hungriestBytes: () => 300 * MB,
    },
    rules,
    namesOf: new Map([
      ['inline', ['small', 'other']],
      ['process', ['big']],
    ] as const),
    kindOf: (name) => (name === 'big' ? 'process' : 'inline'),
    endsAtMs: null,
    readMemory: () => {
      machine.reads += 1;
      return { source: 'meminfo', totalBytes: 8_000 * MB, availableBytes: machine.availableBytes };
    },
    ownBytes: () => machine.ownBytes,
    ownMaxBytes: null,
    hasNeighbours: () => false,
    random: () => 0,
    logger: silentLogger,
    now: () => machine.nowMs,
    ...options,
  });
  return { gate, machine };
}

it('lets everything through, and reads the memory once a second, while there is plenty', () => {
  const { gate, machine } = gateWith();
  for (let index = 0; index < 1_000; index += 1)
    expect(gate.judge('small', false)).toMatchObject({ admit: true });
  expect(gate.isGuarded).toBe(false);
  expect(machine.reads).toBe(1);
});

it('holds the name of a denied job until its wait is over', () => {
  const { gate, machine } = gateWith();
  machine.availableBytes = 200 * MB;
  expect(gate.isGuarded).toBe(true);
  expect(gate.judge('big', false)).toMatchObject({ admit: false, reason: 'system-memory' });
  expect(gate.names('process')).toEqual([]);
  expect(gate.names('inline')).toEqual(['small', 'other']);
  expect(gate.held).toEqual({ big: expect.stringMatching(/needs about 300 MB, 200 MB of memory/) });
  machine.nowMs = 5_000;
  expect(gate.names('process')).toEqual(['big']);
  machine.availableBytes = 4_000 * MB;
  expect(gate.judge('big', false)).toMatchObject({ admit: true });
});

it('does not promise the same memory twice', () => {
  const { gate, machine } = gateWith();
  machine.availableBytes = 600 * MB;
  expect(gate.judge('big', false)).toMatchObject({ admit: true });
  expect(gate.judge('big', false)).toMatchObject({ admit: false });
  machine.nowMs = 10_000;
  expect(gate.judge('big', false)).toMatchObject({ admit: true });
});

it('goes by a share of the machine where nothing says how much the worker may use', () => {
  const { gate, machine } = gateWith();
  machine.ownBytes = 5_990 * MB;
  expect(gate.judge('small', false)).toMatchObject({ admit: false, reason: 'own-memory' });
});

it('lets an idle worker have one', () => {
  const { gate, machine } = gateWith();
  machine.availableBytes = 100 * MB;
  expect(gate.judge('big', true)).toMatchObject({ admit: true, despite: { reason: 'system-memory' } });
  expect(gateWith({ hasNeighbours: () => true }).gate.judge('big', true)).toMatchObject({ admit: true });
  const shared = gateWith({ hasNeighbours: () => true });
  shared.machine.availableBytes = 100 * MB;
  expect(shared.gate.judge('big', true)).toMatchObject({ admit: false });
});

it('starts nothing that the time of the run would not let end, to its end', () => {
  const { gate, machine } = gateWith({ endsAtMs: 20_000 });
  expect(gate.isGuarded).toBe(true);
  expect(gate.judge('big', true)).toMatchObject({ admit: true });
  machine.nowMs = 6_000;
  expect(gate.judge('big', true)).toMatchObject({ admit: false, reason: 'time' });
  expect(gate.judge('small', true)).toMatchObject({ admit: true });
  expect(gate.names('process')).toEqual([]);
  machine.nowMs = 14_000;
  expect(gate.names('process')).toEqual([]);
  expect(gate.names('inline')).toEqual(['small', 'other']);
  machine.nowMs = 15_001;
  expect(gate.names('inline')).toEqual([]);
});

it('asks nothing but the end of the run when profiles are off', () => {
  const { gate, machine } = gateWith({ profiles: null, endsAtMs: 20_000 });
  machine.availableBytes = 0;
  expect(gate.judge('big', false)).toMatchObject({ admit: true });
  machine.nowMs = 16_000;
  expect(gate.judge('small', false)).toMatchObject({ admit: false, reason: 'time' });
});
