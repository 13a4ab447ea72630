import { expect, test } from 'vitest';
import { bareHost, isPublicAddress, plainAddress } from './public-address.js';

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '198.17.255.255',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:80b::200e',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
  '64:ff9b::808:808',
])('%s is of the public internet', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.168.1.1',
  '198.18.0.1',
  '203.0.113.5',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:a9fe:a9fe',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::10.0.0.1',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001::1',
  '2001:db8::1',
  '3fff::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'ff02::1',
  '100::1',
  'localhost',
  '1.1.1',
  '0x7f.1',
  '',
])('%s is not', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test('the spellings of hosts in a URL come down to one', () => {
  const hosts = [
    'http://0x7f.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://１２７.0.0.1/',
  ];
  expect(hosts.map((url) => bareHost(new URL(url).hostname))).toEqual(hosts.map(() => '127.0.0.1'));
  expect(bareHost('[::1]')).toBe('::1');
  expect(bareHost('0:0:0:0:0:0:0:1')).toBe('::1');
  expect(bareHost('LocalHost.')).toBe('localhost');
  expect(plainAddress('::ffff:7f00:1')).toBe('127.0.0.1');
  expect(plainAddress('::1')).toBe('::1');
});
