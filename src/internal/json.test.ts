import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, decodeJson, encodePayload, encodeResult } from './json.js';

const maxBytes = 1024 * 1024;

function encode(value: unknown): string {
  return encodePayload(value, { maxBytes, what: 'input of job "x"' });
}

function cyclic(): Record<string, unknown> {
  const value: Record<string, unknown> = { list: [] };
  (value['list'] as unknown[]).push({ up: value });
  return value;
}

/** 2^80 parts when unfolded, 80 objects in memory. */
function unfolding(): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < 80; level += 1) value = [value, value];
  return value;
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

const throwing = {
  get price(): number {
    throw new Error('no price today');
  },
};

describe('encodePayload', () => {
  it('writes what JSON.stringify writes for everything that JSON can tell', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(encode(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each([
    ['a Date', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['an undefined property', { a: undefined, b: 1 }, '{"b":1}'],
    ['undefined beside a Date', { a: undefined, at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['undefined in an array', [undefined, new Date(0)], '[null,"1970-01-01T00:00:00.000Z"]'],
    ['undefined as a whole', undefined, 'null'],
    ['NUL', 'a\0b', '"a\\u0000b"'],
    ['a lone surrogate', '\ud800', '"\\ud800"'],
    [
      'a boxed number',
      { n: Object(5) as unknown, at: new Date(0) },
      '{"n":5,"at":"1970-01-01T00:00:00.000Z"}',
    ],
    ['a Buffer, by its toJSON', Buffer.from('a'), '{"type":"Buffer","data":[97]}'],
    ['a URL, by its toJSON', new URL('http://a/b'), '"http://a/b"'],
    ['an own __proto__ key', JSON.parse('{"__proto__":{"a":1}}') as unknown, '{"__proto__":{"a":1}}'],
  ])('keeps %s', (_, value, text) => {
    expect(encode(value)).toBe(text);
  });

  it('keeps an own __proto__ key and class instances in the slow walk too', () => {
    class Point {
      x = 1;
      at = new Date(0);
    }
    const proto = JSON.parse('{"__proto__":{"a":1}}') as object;
    expect(encode([proto, new Point()])).toBe(
      '[{"__proto__":{"a":1}},{"x":1,"at":"1970-01-01T00:00:00.000Z"}]',
    );
  });

  it('hands the key to toJSON and honours what it answers', () => {
    const value = { a: { toJSON: (key: string) => ({ key, nested: new Date(0) }) } };
    expect(encode(value)).toBe('{"a":{"key":"a","nested":"1970-01-01T00:00:00.000Z"}}');
  });

  it.each([
    ['BigInt', { items: [{}, { price: 1n }] }, '$.items[1].price'],
    ['function', { a: { run: () => 1 } }, '$.a.run'],
    ['symbol', [Symbol('s')], '$[0]'],
    ['cycle', cyclic(), '$.list[0].up'],
    ['NaN', { n: Number.NaN }, '$.n'],
    ['Infinity', [1, Number.POSITIVE_INFINITY], '$[1]'],
    ['invalid Date', { at: new Date(Number.NaN) }, '$.at'],
    ['Map', { 'a b': new Map() }, '$["a b"]'],
    ['Set', new Set([1]), '$'],
    ['Error', { e: new Error('x') }, '$.e'],
    ['typed array', new Uint8Array(2), '$'],
    ['Promise', [Promise.resolve()], '$[0]'],
    ['getter', { items: [throwing] }, '$.items[0].price'],
    [
      'toJSON',
      {
        toJSON() {
          throw new Error('bad toJSON');
        },
      },
      '$',
    ],
    ['nested', deep(5000), '[0]'],
  ])('refuses %s and names the place', (word, value, path) => {
    expect(() => encode(value)).toThrowError(
      expect.objectContaining({
        code: 'payload-invalid',
        message: expect.stringMatching(/^input of job "x": \$/),
        details: { path: expect.stringContaining(path), problem: expect.any(String) },
      }),
    );
    if (!['getter', 'toJSON'].includes(word)) expect(() => encode(value)).toThrowError(new RegExp(word, 'i'));
  });

  it('takes 200 levels, and a value that is used twice without containing itself', () => {
    expect(encode(deep(200))).toBe(JSON.stringify(deep(200)));
    const shared = { a: new Date(0) };
    expect(decodeJson(encode([shared, shared]), 'x')).toHaveLength(2);
  });

  it('counts bytes, not characters, and takes exactly the limit', () => {
    const limit = { maxBytes: 10, what: 'input' };
    expect(encodePayload('12345678', limit)).toBe('"12345678"');
    expect(encodePayload('ää', limit)).toBe('"ää"');
    expect(() => encodePayload('äääää', limit)).toThrowError(
      expect.objectContaining({
        code: 'payload-too-large',
        message: expect.stringMatching(/12 bytes.*limit is 10/),
      }),
    );
  });

  it('refuses what would unfold to more than memory holds, quickly', () => {
    const startedAt = performance.now();
    expect(() => encode(unfolding())).toThrowError(expect.objectContaining({ code: 'payload-too-large' }));
    const line = 'x'.repeat(1024 * 1024);
    const lines = Array.from({ length: 2000 }, () => line);
    expect(() => encode(lines)).toThrowError(expect.objectContaining({ code: 'payload-too-large' }));
    const inside = { at: new Date(0), unfolding: unfolding() };
    expect(() => encode(inside)).toThrowError(expect.objectContaining({ code: 'payload-too-large' }));
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});

describe('encodeResult', () => {
  it('is the same text without a note for everything that JSON can tell', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(encodeResult(value, { maxBytes })).toEqual({ text: JSON.stringify(value) });
      }),
    );
    expect(encodeResult(undefined, { maxBytes })).toEqual({ text: 'null' });
    expect(encodeResult({ at: new Date(0) }, { maxBytes })).toEqual({
      text: '{"at":"1970-01-01T00:00:00.000Z"}',
    });
  });

  it.each([
    ['BigInt', { n: 12345678901234567890n }, { n: '12345678901234567890' }],
    ['cycle', cyclic(), { list: [{ up: '[Circular]' }] }],
    ['function', { a: 1, run: () => 1 }, { a: 1 }],
    ['symbol', [Symbol('s'), 1], [null, 1]],
    ['getter', { items: [throwing] }, { items: [{ price: '[Threw: no price today]' }] }],
    ['NaN', { n: Number.NaN }, { n: null }],
    ['Map', new Map([['a', 1]]), [['a', 1]]],
    ['Set', { s: new Set([1, 2]) }, { s: [1, 2] }],
    ['Error', { e: new TypeError('bad') }, { e: { name: 'TypeError', message: 'bad' } }],
    ['function as a whole', () => 1, null],
  ])('keeps a %s as well as it can and says so', (_, value, expected) => {
    const { text, note } = encodeResult(value, { maxBytes });
    expect(JSON.parse(text)).toEqual(expected);
    expect(note).toMatch(/^\$/);
  });

  it('cuts what is above the limit and stays within it', () => {
    for (const value of [
      'x'.repeat(5000),
      '"'.repeat(5000),
      '\0'.repeat(5000),
      '😀'.repeat(5000),
      '€'.repeat(5000),
    ]) {
      const { text, note } = encodeResult({ value }, { maxBytes: 4096 });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4096);
      const cut = JSON.parse(text) as { $truncated: boolean; bytes: number; head: string };
      expect(cut).toMatchObject({ $truncated: true, bytes: Buffer.byteLength(JSON.stringify({ value })) });
      expect(JSON.stringify({ value }).startsWith(cut.head)).toBe(true);
      expect(cut.head.length).toBeGreaterThan(1000);
      expect(note).toContain('over the limit of 4096');
    }
  });

  it('never throws, whatever the value', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('get');
        },
        ownKeys: () => {
          throw new Error('ownKeys');
        },
        getPrototypeOf: () => {
          throw new Error('getPrototypeOf');
        },
      },
    );
    const endless = {
      toJSON(): unknown {
        return { toJSON: endless.toJSON };
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const values = [
      hostile,
      { hostile },
      [proxy],
      proxy,
      endless,
      unfolding(),
      deep(200_000),
      new Map([[proxy, proxy]]),
    ];
    for (const value of values) {
      const { text, note } = encodeResult(value, { maxBytes });
      expect(() => JSON.parse(text) as unknown).not.toThrow();
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
      expect(note).toBeDefined();
    }
  });
});

describe('decodeJson', () => {
  it('reads back what encodePayload wrote', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        expect(decodeJson(encode(value), 'x')).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('names what it could not read', () => {
    expect(() => decodeJson('{"a":', '--payload')).toThrowError(
      expect.objectContaining({
        code: 'json-invalid',
        message: expect.stringMatching(/^--payload: expected JSON/),
      }),
    );
  });
});

describe('canonicalJson', () => {
  function shuffled(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, part]) => [key, shuffled(part)]),
    );
  }

  it('does not depend on the order of keys at any level, and tells the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('sorts, keeps the order of arrays, leaves undefined out and honours toJSON', () => {
    expect(canonicalJson({ b: [2, 1, undefined], a: { d: undefined, c: 1 } })).toBe(
      '{"a":{"c":1},"b":[2,1,null]}',
    );
    expect(canonicalJson({ b: 1, a: new Date(0) })).toBe('{"a":"1970-01-01T00:00:00.000Z","b":1}');
    expect(canonicalJson(undefined)).toBe('null');
    expect(() => canonicalJson({ a: 1n })).toThrowError(expect.objectContaining({ code: 'payload-invalid' }));
  });
});
