import { expect, test } from 'vitest';
import { webAddressSetting } from './url-settings.js';

const setting = webAddressSetting({ env: 'X', meaning: 'x' });

test.each([
  ['http://10.0.0.5:8000/', 'http://10.0.0.5:8000'],
  [' https://hub.example.com/millrace ', 'https://hub.example.com/millrace'],
  ['none', null],
])('%j is %j', (text, expected) => {
  expect(setting.parse(text, true)).toBe(expected);
});

test.each([
  '10.0.0.5:8000',
  'ws://hub:8000',
  'http://',
  'http://ada:geheim@hub',
  'http://hub?token=geheim',
  'http://hub#geheim',
  '',
])('%j is refused, and not repeated', (text) => {
  expect(() => setting.parse(text, true)).toThrow(
    /^expected none, or an address as in .*got a text that is none$/,
  );
});
