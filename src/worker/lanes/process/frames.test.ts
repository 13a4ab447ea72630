import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameReader, maxFrameBytes } from './frames.js';

describe('frames', () => {
  it.each([1, 3, 4, 5, 1000])('come out whole and in order, in chunks of %s bytes', (size) => {
    const messages = [{ a: 1 }, { text: 'é€😀\u0000"' }, {}, { long: 'x'.repeat(5000) }];
    const bytes = Buffer.concat(messages.map(encodeFrame));
    const got: unknown[] = [];
    const reader = new FrameReader((message) => got.push(message));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(got).toEqual(messages);
  });

  it('above the cap are refused on both sides, before they are there', () => {
    const reader = new FrameReader(() => undefined);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(maxFrameBytes + 1);
    expect(() => reader.push(head)).toThrow(/expected at most 4194304 bytes, got 4194305/);
    expect(() => encodeFrame({ text: 'x'.repeat(maxFrameBytes) })).toThrow(/expected at most/);
  });

  it('that are no JSON are refused', () => {
    const reader = new FrameReader(() => undefined);
    expect(() => reader.push(Buffer.from([0, 0, 0, 2, 0x7b, 0x21]))).toThrow(/no JSON/);
  });
});
