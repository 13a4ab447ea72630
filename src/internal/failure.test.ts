import { describe, expect, it } from 'vitest';
import { MillraceError } from './errors.js';
import { type AttemptFailure, appendFailure, describeFailure, parseFailures } from './failure.js';

function failure(attempt: number, message = `failure ${attempt}`): AttemptFailure {
  return { at: 1000 * attempt, attempt, kind: 'failed', worker: 'w-1', error: { name: 'Error', message } };
}

describe('describeFailure', () => {
  it('keeps name, message, stack, code and the chain of causes', () => {
    const cause = Object.assign(new TypeError('underneath'), { code: 'ECONNREFUSED' });
    const error = new MillraceError('query-failed', 'above', { cause });
    expect(describeFailure(error)).toMatchObject({
      name: 'MillraceError',
      message: 'above',
      code: 'query-failed',
      stack: expect.stringContaining('failure.test.ts'),
      cause: { name: 'TypeError', message: 'underneath', code: 'ECONNREFUSED' },
    });
  });

  it('follows four causes, and no circle', () => {
    let error = new Error('0');
    for (let index = 1; index <= 10; index += 1) error = new Error(String(index), { cause: error });
    let depth = 0;
    for (let record = describeFailure(error); record.cause !== undefined; record = record.cause) depth += 1;
    expect(depth).toBe(4);
    const circle: Error & { cause?: unknown } = new Error('circle');
    circle.cause = circle;
    expect(describeFailure(circle).cause).toBeUndefined();
  });

  it('caps a message of 2 MB and a stack of 2 MB', () => {
    for (const char of ['x', '€', '😀', '\0', '\ud800']) {
      const error = new Error(char.repeat(2_000_000));
      const { message, stack } = describeFailure(error);
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(8 * 1024);
      expect(Buffer.byteLength(stack ?? '')).toBeLessThanOrEqual(16 * 1024);
      expect(message).toMatch(/cut, \d+ characters/);
      expect(message).not.toMatch(/[\0\ufffd]{2}…$/);
    }
  });

  it('makes NUL and lone surrogates printable', () => {
    const { message } = describeFailure(new Error('a\0b\ud800c😀'));
    expect(message).toBe('a␀b\ufffdc😀');
  });

  it.each([
    ['a text', 'plain', 'thrown value: plain'],
    ['undefined', undefined, 'thrown value: undefined'],
    ['null', null, 'thrown value: null'],
    ['a BigInt', 5n, 'thrown value: 5n'],
    ['a symbol', Symbol('s'), 'thrown value: Symbol(s)'],
    ['a plain object', { a: 1 }, 'thrown value: {"a":1}'],
    ['a function', () => 1, expect.any(String)],
  ])('describes %s that was thrown', (_, value, message) => {
    expect(describeFailure(value).message).toEqual(message);
  });

  it('says the parts of an AggregateError without a message', () => {
    const error = new AggregateError([new Error('IPv6 refused'), new Error('IPv4 refused')]);
    expect(describeFailure(error).message).toBe('IPv6 refused; IPv4 refused');
  });

  it('never throws: getters, proxies, strange properties', () => {
    const getters: unknown = Object.create(Error.prototype, {
      message: {
        get: () => {
          throw new Error('message');
        },
      },
      stack: {
        get: () => {
          throw new Error('stack');
        },
      },
    });
    const trap = (): never => {
      throw new Error('trap');
    };
    const proxy = new Proxy({}, { get: trap, ownKeys: trap, getPrototypeOf: trap, has: trap });
    const { proxy: revoked, revoke } = Proxy.revocable({}, {});
    revoke();
    const strange = { name: 5, message: { a: 1 }, stack: [], code: {}, cause: proxy };
    for (const value of [getters, proxy, revoked, strange, new AggregateError([proxy, revoked])]) {
      const record = describeFailure(value);
      expect(record.name).toEqual(expect.any(String));
      expect(record.message.length).toBeGreaterThan(0);
      expect(() => JSON.stringify(record)).not.toThrow();
    }
  });
});

describe('appendFailure', () => {
  it('keeps the first entry and the newest nine', () => {
    let text: string | null = null;
    for (let attempt = 1; attempt <= 30; attempt += 1) text = appendFailure(text, failure(attempt));
    expect(parseFailures(text).map(({ attempt }) => attempt)).toEqual([
      1, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    ]);
  });

  it('stays under 256 KB whatever the errors, and always tells the newest', () => {
    const nasty = '"\\\n€'.repeat(100_000);
    let error = new Error(nasty);
    for (let index = 0; index < 6; index += 1) error = new Error(nasty, { cause: error });
    let text: string | null = null;
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      text = appendFailure(text, { ...failure(attempt), error: describeFailure(error) });
      expect(Buffer.byteLength(text)).toBeLessThan(256 * 1024);
    }
    const kept = parseFailures(text);
    expect(kept).toHaveLength(10);
    expect(kept[0]?.attempt).toBe(1);
    expect(kept.at(-1)?.error.stack).toBeDefined();
  });

  it.each(['', 'not json', '{"a":1}', '[1,null]', 'null'])(
    'starts anew over the unreadable text %j',
    (text) => {
      expect(parseFailures(appendFailure(text, failure(3)))).toEqual([failure(3)]);
    },
  );
});
