import { expect, test } from 'vitest';
import { newToken } from '../../internal/token-text.js';
import { readCookie, sessionCookie } from './cookie-header.js';
import { isSignedBy, readSignedText, signText } from './signed-text.js';

const { id: tokenId, secretHash } = newToken();
const untilMs = 1_800_000_000_000;

test('a signed text says for which token and until when, and holds for its purpose and token alone', () => {
  const text = signText('session', secretHash, { tokenId, untilMs });
  expect(readSignedText(text)).toMatchObject({ tokenId, untilMs });
  expect(isSignedBy('session', secretHash, text)).toBe(true);
  expect(isSignedBy('ticket', secretHash, text)).toBe(false);
  expect(isSignedBy('session', newToken().secretHash, text)).toBe(false);
  expect(signText('session', secretHash, { tokenId, untilMs })).not.toBe(text);
});

test('a change of any character ends it', () => {
  const text = signText('ticket', secretHash, { tokenId, untilMs });
  for (let at = 0; at < text.length - 1; at += 1) {
    const other = text[at] === 'a' ? 'b' : 'a';
    const changed = `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
    if (changed === text) continue;
    expect(readSignedText(changed) !== null && isSignedBy('ticket', secretHash, changed)).toBe(false);
  }
  for (const none of ['', '...', `${text}x`, text.slice(0, -1)]) expect(readSignedText(none)).toBeNull();
});

test('a cookie is read out of a header, and kept from scripts and other sites', () => {
  expect(readCookie('a=1; millrace_session=x=y ;b=2', 'millrace_session')).toBe('x=y');
  expect(readCookie('xmillrace_session=1; millrace_session2=2', 'millrace_session')).toBeNull();
  expect(readCookie(undefined, 'a')).toBeNull();
  expect(sessionCookie('s', 'v', { maxAgeS: 9, isSecure: true })).toBe(
    's=v; Max-Age=9; Path=/; HttpOnly; SameSite=Strict; Secure',
  );
  expect(sessionCookie('s', '', { maxAgeS: 0, isSecure: false })).not.toContain('Secure');
});
