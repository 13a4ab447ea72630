import { expect, test } from 'vitest';
import { PrivateTargets } from './private-targets.js';

const allows = (text: string, name: string, address: string, port: number): boolean | undefined =>
  PrivateTargets.parse(text)?.allow(name, address, port);

test.each<[string, string, string, number, boolean]>([
  ['none', '10.0.0.1', '10.0.0.1', 80, false],
  ['all', '10.0.0.1', '10.0.0.1', 80, true],
  ['10.0.0.0/8', '10.9.8.7', '10.9.8.7', 80, true],
  ['10.0.0.0/8', 'intranet', '10.9.8.7', 443, true],
  ['10.0.0.0/8', '11.0.0.1', '11.0.0.1', 80, false],
  ['10.0.0.1', '10.0.0.2', '10.0.0.2', 80, false],
  ['127.0.0.1:3000', '127.0.0.1', '127.0.0.1', 3000, true],
  ['127.0.0.1:3000', '127.0.0.1', '127.0.0.1', 3001, false],
  ['localhost:3000', 'localhost', '127.0.0.1', 3000, true],
  ['localhost:3000', '127.0.0.1', '127.0.0.1', 3000, false],
  ['Intranet.Example, 10.0.0.1', 'intranet.example', '192.168.0.9', 80, true],
  ['intranet.example', 'other.example', '192.168.0.9', 80, false],
  ['[fd00::1]:8080', 'fd00::1', 'fd00::1', 8080, true],
  ['fd00::/8', 'fd12::1', 'fd12::1', 80, true],
  ['fd00::/8', '10.0.0.1', '10.0.0.1', 80, false],
])('%s, asked for %s at %s port %i: %s', (text, name, address, port, expected) => {
  expect(allows(text, name, address, port)).toBe(expected);
});

test.each([
  '',
  ',',
  'none, 10.0.0.1/99',
  '10.0.0.0/33',
  'fd00::/129',
  'a b',
  'http://x',
  'x:0',
  'x:70000',
  '*',
  'x/8',
  '-x',
])('%j is none', (text) => {
  expect(PrivateTargets.parse(text)).toBeNull();
});
