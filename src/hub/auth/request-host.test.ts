import { describe, expect, test } from 'vitest';
import {
  type HostRules,
  isHostAllowed,
  isLoopbackAddress,
  isLoopbackHost,
  isOriginAllowed,
} from './request-host.js';

const local: HostRules = { listenHost: '127.0.0.1', allowedHosts: [] };
const everywhere: HostRules = { listenHost: '0.0.0.0', allowedHosts: ['jobs.example.com', 'hub:8000'] };

describe('the names a hub answers to', () => {
  test.each([
    'localhost',
    'localhost:8000',
    'LOCALHOST:1',
    '127.0.0.1:8000',
    '127.1.2.3',
    '[::1]:8000',
    'a.localhost',
  ])('are those of loopback: %s', (host) => {
    expect(isHostAllowed(host, local)).toBe(true);
    expect(isHostAllowed(host, everywhere)).toBe(true);
  });

  test.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil.example',
    'evil.example#localhost',
    'localhost, evil.example',
    'localhost:8000:1',
    '192.168.0.7',
    '[::2]',
    '0x7f.1',
  ])('are no others on loopback: %s', (host) => {
    expect(isHostAllowed(host, local)).toBe(false);
  });

  test('beyond loopback are also listed ones, with their port where it is listed, and bare addresses', () => {
    expect(isHostAllowed('jobs.example.com', everywhere)).toBe(true);
    expect(isHostAllowed('Jobs.Example.com.:443', everywhere)).toBe(true);
    expect(isHostAllowed('hub:8000', everywhere)).toBe(true);
    expect(isHostAllowed('hub:8001', everywhere)).toBe(false);
    expect(isHostAllowed('10.0.0.7:8000', everywhere)).toBe(true);
    expect(isHostAllowed('[fd00::7]:8000', everywhere)).toBe(true);
    expect(isHostAllowed('evil.example', everywhere)).toBe(false);
    expect(isHostAllowed('box.lan:8000', { listenHost: 'Box.lan', allowedHosts: [] })).toBe(true);
  });
});

describe('a page may change something', () => {
  const host = 'localhost:8000';
  const allowed = (origin: string | undefined, fetchSite?: string, rules = local): boolean =>
    isOriginAllowed({ origin, host, fetchSite }, rules);

  test('when it is of the hub itself or listed, or when no browser asks', () => {
    expect(allowed(undefined)).toBe(true);
    expect(allowed(undefined, 'same-origin')).toBe(true);
    expect(allowed('http://localhost:8000')).toBe(true);
    expect(allowed('https://jobs.example.com', undefined, everywhere)).toBe(true);
  });

  test.each([
    'null',
    'http://localhost:3000',
    'http://localhost',
    'http://evil.example',
    'http://localhost:8000.evil.example',
    'http://localhost:8000@evil.example',
    'file://localhost:8000',
    '',
  ])('and not when it is %j', (origin) => {
    expect(allowed(origin)).toBe(false);
  });

  test('and not when the browser says that another site asks', () => {
    expect(allowed(undefined, 'cross-site')).toBe(false);
    expect(allowed(undefined, 'same-site')).toBe(false);
  });
});

test('loopback is told from what looks like it', () => {
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
    expect(isLoopbackAddress(address)).toBe(true);
  for (const address of ['', '10.0.0.1', '::', '::2', '::ffff:10.0.0.1', '127.evil', 'localhost']) {
    expect(isLoopbackAddress(address)).toBe(false);
  }
  for (const host of ['localhost', '[::1]', '127.0.0.1']) expect(isLoopbackHost(host)).toBe(true);
  for (const host of ['0.0.0.0', '::', 'hub', '192.168.1.2']) expect(isLoopbackHost(host)).toBe(false);
});
