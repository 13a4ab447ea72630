import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isProvenOver, stampOf } from '../../../src/internal/process-stamp.js';
import { type Slot, takeSlot } from '../../../src/worker/identity/slot.js';
import { tempDir } from '../../support/temp.js';

const take = (folder: string, incarnation: string): Slot => {
  const slot = takeSlot(folder, incarnation);
  if (slot === null) throw new Error('no slot was free');
  return slot;
};

/** A process that has ended, as it would have described itself. */
function overStamp() {
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  return { ...stampOf(process.pid), pid, startTime: '1' };
}

describe('the slot of a worker', () => {
  it('has an id that stays over restarts, which it counts', async () => {
    await using dir = tempDir('slot');
    const first = take(dir.path, 'a'.repeat(16));
    expect(first).toMatchObject({ number: 1, restarts: 0, ended: null });
    expect(first.id).toMatch(/^w-[0-9a-f]{8}-1$/);
    first.release();
    const second = take(dir.path, 'b'.repeat(16));
    expect(second).toMatchObject({ id: first.id, restarts: 1, ended: 'a'.repeat(16) });
  });

  it('is held by one: others get the next numbers', async () => {
    await using dir = tempDir('slot');
    const slots = ['1', '2', '3'].map((digit) => take(dir.path, digit.repeat(16)));
    expect(slots.map(({ number }) => number)).toEqual([1, 2, 3]);
    slots[1]?.release();
    expect(take(dir.path, '4'.repeat(16))).toMatchObject({ number: 2, ended: '2'.repeat(16) });
  });

  it('goes to the next one when its holder is proven to be over, with the incarnation that ended', async () => {
    await using dir = tempDir('slot');
    const held = take(dir.path, 'a'.repeat(16));
    const lock = { stamp: overStamp(), incarnation: 'a'.repeat(16) };
    writeFileSync(dir.file('slot-1.lock'), JSON.stringify(lock));
    expect(take(dir.path, 'b'.repeat(16))).toMatchObject({
      id: held.id,
      number: 1,
      restarts: 1,
      ended: 'a'.repeat(16),
    });
    // The one before can't give back what is no longer its own.
    held.release();
    expect(existsSync(dir.file('slot-1.lock'))).toBe(true);
  });

  it.each([
    ['on another boot', { bootId: 'another' }],
    ['in another PID namespace', { pidNamespace: 'pid:[1]' }],
  ])('stays with a holder %s, of whom nothing is proven, until the lock is old', async (_where, other) => {
    await using dir = tempDir('slot');
    take(dir.path, 'a'.repeat(16));
    const lock = { stamp: { ...overStamp(), ...other }, incarnation: 'a'.repeat(16) };
    writeFileSync(dir.file('slot-1.lock'), JSON.stringify(lock));
    expect(take(dir.path, 'b'.repeat(16)).number).toBe(2);
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(dir.file('slot-1.lock'), longAgo, longAgo);
    expect(take(dir.path, 'c'.repeat(16))).toMatchObject({ number: 1, ended: null });
  });

  it('is kept by touching its lock', async () => {
    await using dir = tempDir('slot');
    const slot = take(dir.path, 'a'.repeat(16));
    const longAgo = new Date(Date.now() - 3_600_000);
    utimesSync(dir.file('slot-1.lock'), longAgo, longAgo);
    slot.touch();
    expect(statSync(dir.file('slot-1.lock')).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
  });

  it('in a copy of its folder proves nothing about the original that still runs', async () => {
    await using dir = tempDir('slot');
    await using copy = tempDir('slot');
    const original = take(dir.path, 'a'.repeat(16));
    cpSync(dir.path, copy.path, { recursive: true });
    // With the lock: here its holder is seen to live. Without: nobody is known to have ended.
    expect(take(copy.path, 'b'.repeat(16)).number).toBe(2);
    rmSync(copy.file('slot-1.lock'));
    expect(take(copy.path, 'c'.repeat(16))).toMatchObject({ id: original.id, ended: null });
  });

  it('is not lost by a takeover that died in the middle', async () => {
    await using dir = tempDir('slot');
    take(dir.path, 'a'.repeat(16));
    const left = JSON.stringify({ stamp: overStamp(), incarnation: 'a'.repeat(16) });
    writeFileSync(dir.file('slot-1.lock'), left);
    writeFileSync(dir.file('slot-1.lock.takeover'), left);
    expect(take(dir.path, 'b'.repeat(16)).number).toBe(2);
    expect(take(dir.path, 'c'.repeat(16)).number).toBe(1);
  });

  it('refuses a folder whose id is not one', async () => {
    await using dir = tempDir('slot');
    writeFileSync(dir.file('worker-id'), 'something else');
    expect(() => takeSlot(dir.path, 'a'.repeat(16))).toThrow(/expected eight hex digits/);
    expect(readFileSync(dir.file('worker-id'), 'utf8')).toBe('something else');
  });
});

describe('proof that a process is over', () => {
  it('needs a pid that is gone, or has another start time, in the same boot and namespace', () => {
    const mine = stampOf(process.pid);
    expect(isProvenOver(mine)).toBe(false);
    expect(isProvenOver(overStamp())).toBe(true);
    if (mine.startTime !== null) expect(isProvenOver({ ...mine, startTime: '1' })).toBe(true);
    expect(isProvenOver({ ...overStamp(), bootId: 'another' })).toBe(false);
    expect(isProvenOver({ ...overStamp(), pidNamespace: 'pid:[1]' })).toBe(false);
  });

  it('on a system without boots is a pid that is gone on a host of the same name', () => {
    const here = { ...stampOf(process.pid), bootId: null, pidNamespace: null };
    const over = { ...overStamp(), bootId: null, pidNamespace: null };
    expect(isProvenOver(over, here)).toBe(true);
    expect(isProvenOver({ ...over, host: 'another' }, here)).toBe(false);
    expect(isProvenOver({ ...here }, here)).toBe(false);
  });
});
