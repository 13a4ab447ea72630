import { expect, it } from 'vitest';
import { hubUrlSetting, secretSetting } from './link-settings.js';

const hub = hubUrlSetting({ env: 'HUB_URL', meaning: 'where' });
const secret = secretSetting({ env: 'WORKER_SECRET', meaning: 'who' });

it('takes one hub or several, as a text or a list, and forgets slashes and doubles', () => {
  expect(hub.parse('ws://host:8000', true)).toEqual(['ws://host:8000']);
  expect(hub.parse('http://a:1/, wss://b/base/,ws://a:1', true)).toEqual(['ws://a:1', 'wss://b/base']);
  expect(hub.parse(['https://a'], false)).toEqual(['wss://a']);
  expect(hub.parse('none', true)).toEqual([]);
  expect(hub.format(['ws://a', 'ws://b'])).toBe('ws://a,ws://b');
});

it('refuses what is no address of a hub, or carries a secret', () => {
  for (const bad of [
    '',
    'host:8000',
    'ftp://a',
    'ws://user:pw@a',
    'ws://a?token=x',
    'ws://a,',
    5,
    null,
    [1],
  ]) {
    expect(() => hub.parse(bad, false)).toThrow('expected none, or addresses');
  }
});

it('never shows a secret, also not one that it refuses', () => {
  expect(secret.format(secret.parse(' mr_1_abc ', true))).toBe('(set, not shown)');
  expect(secret.format('')).toBe('none');
  for (const bad of ['two words', 'x'.repeat(201), 5]) {
    expect(() => secret.parse(bad, false)).toThrow('got something else');
  }
});
