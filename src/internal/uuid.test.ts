import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { bytesToUuid, isUuid, uuidToBytes, uuidv7 } from './uuid.js';

afterEach(() => {
  vi.useRealTimers();
});

function expectAscending(ids: readonly string[]): void {
  for (let index = 1; index < ids.length; index += 1) {
    const isLater = (ids[index] as string) > (ids[index - 1] as string);
    if (!isLater) expect.fail(`${ids[index]} does not come after ${ids[index - 1]}`);
  }
}

describe('uuidv7', () => {
  it('has the form, version and variant of RFC 9562 and begins with the time', () => {
    const before = Date.now();
    const id = uuidv7();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    expect(ms).toBeGreaterThanOrEqual(before);
    expect(ms).toBeLessThanOrEqual(Date.now());
  });

  it('makes 300,000 ids that are distinct and in order', () => {
    const ids = Array.from({ length: 300_000 }, uuidv7);
    expectAscending(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('keeps the order while the clock stands still or steps back', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    const ids = Array.from({ length: 1000 }, uuidv7);
    vi.setSystemTime(Date.now() - 3_600_000);
    ids.push(...Array.from({ length: 1000 }, uuidv7));
    vi.setSystemTime(Date.now() + 7_200_000);
    ids.push(uuidv7());
    expectAscending(ids);
  });

  it('differs in its random part from one id to the next', () => {
    const ends = new Set(Array.from({ length: 10_000 }, () => uuidv7().slice(24)));
    expect(ends.size).toBe(10_000);
  });
});

describe('the bytes of an id', () => {
  it('come back as the same text', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(bytesToUuid(uuidToBytes(id))).toBe(id.toLowerCase());
        expect(uuidToBytes(id).toString('hex')).toBe(id.replaceAll('-', '').toLowerCase());
      }),
    );
  });

  it('are read from any view of bytes, and from upper case', () => {
    const id = uuidv7();
    const inside = new Uint8Array(40);
    inside.set(uuidToBytes(id.toUpperCase()), 7);
    expect(bytesToUuid(inside.subarray(7, 23))).toBe(id);
  });

  it('are refused for anything but a full id', () => {
    const id = uuidv7();
    const wrong = ['', id.slice(1), `${id}0`, id.replace('-', '0'), `g${id.slice(1)}`, `Ā${id.slice(1)}`];
    for (const text of wrong) {
      expect(isUuid(text)).toBe(false);
      expect(() => uuidToBytes(text)).toThrowError(expect.objectContaining({ code: 'option-invalid' }));
    }
    expect(isUuid(id)).toBe(true);
    expect(() => bytesToUuid(new Uint8Array(15))).toThrowError(expect.objectContaining({ code: 'internal' }));
  });
});
