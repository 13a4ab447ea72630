import { describe, expect, test } from 'vitest';
import { sha256Hex } from './hash.js';
import { createLineLogger } from './logger.js';
import { containsToken, isTokenId, maskTokens, newToken, parseToken } from './token-text.js';

describe('a token', () => {
  test('has a public id and 256 bits of secret, of which the hash is kept', () => {
    const { id, secretHash, text } = newToken();
    const parts = parseToken(text);
    expect(parts?.id).toBe(id);
    expect(isTokenId(id)).toBe(true);
    expect(parts?.secret).toMatch(/^[0-9a-f]{64}$/);
    expect(sha256Hex(parts?.secret ?? '')).toBe(secretHash);
  });

  test('is never made twice', () => {
    const texts = Array.from({ length: 200 }, () => newToken().text);
    expect(new Set(texts).size).toBe(200);
  });

  test.each([
    '',
    'mr_',
    'mr_abc_def',
    `mr_abcdefghijkl_${'A'.repeat(64)}`,
    `mr_abcdefghijkl_${'a'.repeat(64)}\n`,
    `x mr_abcdefghijkl_${'a'.repeat(64)}`,
  ])('is not %j', (text) => {
    expect(parseToken(text)).toBeNull();
  });

  test('is masked wherever it stands, also cut short, while its id stays', () => {
    const { id, text } = newToken();
    const told = `got ${text}, then ${text.slice(0, 30)}`;
    expect(containsToken(told)).toBe(true);
    expect(containsToken(told)).toBe(true);
    expect(maskTokens(told)).toBe(`got mr_${id}_***, then mr_${id}_***`);
    expect(containsToken(`token ${id} of mr_nobody`)).toBe(false);
  });

  test('is masked in log lines, in the message and in fields of every depth', () => {
    const { text } = newToken();
    for (const json of [false, true]) {
      const lines: string[] = [];
      const logger = createLineLogger({ write: (line) => lines.push(line), json });
      logger.info(`worker said ${text}`, { token: text, deep: { list: [text] }, error: new Error(text) });
      expect(lines.join('\n')).not.toContain(text.slice(16));
      expect(lines.join('\n')).toContain('***');
    }
  });
});
