import { expect, it } from 'vitest';
import { incarnationOf } from '../../storage/claimed-job.js';
import { ClaimTokens } from './claim-tokens.js';

const incarnation = '0123456789abcdef';

it('makes tokens of the incarnation that no worker and no other connection makes', () => {
  const tokens = new ClaimTokens(incarnation, 0x1234);
  expect(tokens.current).toBe('0123456789abcdeff000123400000001');
  expect(tokens.current).toBe(tokens.current);
  tokens.useUp();
  expect(tokens.current).toBe('0123456789abcdeff000123400000002');
  expect(incarnationOf(tokens.current)).toBe(incarnation);
  expect(new ClaimTokens(incarnation, 2 ** 40 + 1).current).toMatch(/^[0-9a-f]{32}$/);
});
