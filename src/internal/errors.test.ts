import { describe, expect, it } from 'vitest';
import { errorCodes, isErrorCode } from './error-codes.js';
import { expectedGot, hasErrorCode, isMillraceError, MillraceError } from './errors.js';

describe('MillraceError', () => {
  it('takes from the registry whether it is worth trying again', () => {
    expect(new MillraceError('database-unreachable', 'away').retryable).toBe(true);
    expect(new MillraceError('payload-invalid', 'bad').retryable).toBe(false);
    expect(new MillraceError('query-failed', 'bad', { retryable: true }).retryable).toBe(true);
  });

  it('carries code, details and cause, and is an Error', () => {
    const cause = new Error('underneath');
    const error = new MillraceError('internal', 'what', { details: { id: 7 }, cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'MillraceError', code: 'internal', details: { id: 7 }, cause });
    expect(Object.isFrozen(error.details)).toBe(true);
  });

  it('has no cause property when there is none', () => {
    expect('cause' in new MillraceError('internal', 'what')).toBe(false);
  });

  it('is known by another copy of the package', async () => {
    // The query makes the loader evaluate the module a second time.
    const path = './errors.js?copy';
    const copy = (await import(/* @vite-ignore */ path)) as typeof import('./errors.js');
    expect(copy.MillraceError).not.toBe(MillraceError);
    const foreign: unknown = new copy.MillraceError('closed', 'elsewhere');
    expect(foreign).not.toBeInstanceOf(MillraceError);
    expect(isMillraceError(foreign)).toBe(true);
    expect(hasErrorCode(foreign, 'closed')).toBe(true);
    expect(hasErrorCode(foreign, 'internal')).toBe(false);
  });

  it('is not mistaken for any other value', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    );
    for (const value of [new Error('x'), null, undefined, 'text', { code: 'internal' }, hostile]) {
      expect(isMillraceError(value)).toBe(false);
    }
  });
});

describe('the registry of codes', () => {
  it('says of every code in a sentence what it means and what to do', () => {
    for (const [code, { meaning, fix }] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(meaning, code).toMatch(/^[A-Z].{10,}\.$/);
      expect(fix, code).toMatch(/^[A-Z].{10,}[.…]$/);
    }
  });

  it('knows its codes and nothing that objects inherit', () => {
    expect(isErrorCode('internal')).toBe(true);
    expect(isErrorCode('toString')).toBe(false);
  });
});

describe('expectedGot', () => {
  it('says what, expected, got and fix', () => {
    expect(expectedGot({ what: 'option "x"', expected: 'a number', got: 'y', fix: 'Do.' })).toBe(
      'option "x": expected a number, got "y". Do.',
    );
  });

  it('renders long and strange values short, on one line, without throwing', () => {
    const hostile = new Proxy([], {
      get: () => {
        throw new Error('no');
      },
    });
    for (const got of ['a\nb'.repeat(1e5), 1n, Symbol('s'), () => 1, [1, 2], new Map(), null, hostile, {}]) {
      const text = expectedGot({ what: 'x', expected: 'y', got });
      expect(text.length).toBeLessThan(200);
      expect(text).not.toContain('\n');
    }
  });
});
