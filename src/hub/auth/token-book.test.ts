import { expect, test } from 'vitest';
import type { AccessToken } from '../../storage/access-token.js';
import { TokenBook } from './token-book.js';

const tokenOf = (id: string, isValid = true): AccessToken => ({
  id,
  secretHash: '',
  role: 'read',
  name: id,
  createdAtMs: 0,
  expiresAtMs: null,
  revokedAtMs: null,
  isValid,
});

interface Stage {
  now: number;
  reads: number;
  tokens: AccessToken[];
  error: Error | null;
}

function stage(...tokens: AccessToken[]): Stage & { book: TokenBook } {
  const made: Stage = { now: 5_000, reads: 0, tokens, error: null };
  const read = (): Promise<AccessToken[]> => {
    made.reads += 1;
    return made.error === null ? Promise.resolve(made.tokens) : Promise.reject(made.error);
  };
  return Object.assign(made, { book: new TokenBook({ read, now: () => made.now }) });
}

test('a thousand questions cost one read, and the next one comes when it is old', async () => {
  const here = stage(tokenOf('a'), tokenOf('gone', false));
  const found = await Promise.all(Array.from({ length: 1_000 }, () => here.book.find('a')));
  expect(found.every((token) => token?.id === 'a')).toBe(true);
  expect(await here.book.find('gone')).toBeNull();
  expect(await here.book.isEmpty()).toBe(false);
  expect(here.reads).toBe(1);
  here.tokens = [tokenOf('a', false)];
  here.now += 799;
  expect(await here.book.find('a')).not.toBeNull();
  here.now += 2;
  expect(await here.book.find('a')).toBeNull();
  expect(here.reads).toBe(2);
});

test('a token that is younger than the last read is found, and strangers share the reads they cause', async () => {
  const here = stage(tokenOf('a'));
  await here.book.find('a');
  here.tokens = [tokenOf('a'), tokenOf('new')];
  here.now += 1;
  expect(await here.book.find('new')).not.toBeNull();
  expect(here.reads).toBe(2);
  here.now += 1;
  const strangers = Array.from({ length: 500 }, (_, index) => here.book.find(`stranger ${index}`));
  expect((await Promise.all(strangers)).every((token) => token === null)).toBe(true);
  expect(here.reads).toBeLessThanOrEqual(4);
  const before = here.reads;
  expect(await here.book.find('stranger', false)).toBeNull();
  expect(here.reads).toBe(before);
});

test('what cannot be read is neither empty nor valid, and is asked again', async () => {
  const here = stage();
  here.error = new Error('away');
  await expect(here.book.isEmpty()).rejects.toThrow('away');
  await expect(here.book.find('a')).rejects.toThrow('away');
  here.error = null;
  expect(await here.book.isEmpty()).toBe(true);
});
