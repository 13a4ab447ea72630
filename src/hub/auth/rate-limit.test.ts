import { expect, test } from 'vitest';
import { addressKey } from './address-key.js';
import { RateLimit } from './rate-limit.js';

test('a key has its burst, then what fills up, and says how long to wait', () => {
  let now = 0;
  const limit = new RateLimit({ perSecond: 2, burst: 3, now: () => now });
  expect([limit.take('a'), limit.take('a'), limit.take('a')]).toEqual([0, 0, 0]);
  expect(limit.take('a')).toBe(500);
  expect(limit.take('b')).toBe(0);
  now = 499;
  expect(limit.waitMs('a')).toBe(1);
  now = 500;
  expect(limit.take('a')).toBe(0);
  expect(limit.take('a')).toBe(500);
});

test('what is full again is forgotten, and memory stays bounded whatever comes', () => {
  let now = 0;
  const limit = new RateLimit({ perSecond: 1, burst: 1, now: () => now });
  for (let index = 0; index < 25_000; index += 1) limit.take(`key ${index}`);
  expect(limit.size).toBeLessThanOrEqual(10_000);
  expect(limit.take('key 24999')).toBeGreaterThan(0);
  now = 60_000;
  limit.take('late');
  expect(limit.size).toBe(1);
});

test('an address counts by itself, of IPv6 the network', () => {
  expect(addressKey('10.0.0.1')).toBe('10.0.0.1');
  expect(addressKey('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(addressKey('2001:db8:0:1::5')).toBe(addressKey('2001:0db8:0000:0001:ffff:ffff:ffff:ffff'));
  expect(addressKey('2001:db8:0:1::5')).not.toBe(addressKey('2001:db8:0:2::5'));
  expect(addressKey('::1')).toBe('0:0:0:0::/64');
  expect(addressKey('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
});
