import { expect, test } from 'vitest';
import { resolveCapture } from './capture-options.js';

test('what is left out has its default', () => {
  expect(resolveCapture({ url: 'https://example.com' })).toEqual({
    url: 'https://example.com/',
    waitUntil: 'load',
    waitFor: null,
    timeoutMs: 60_000,
    scroll: true,
    screenshot: { of: 'page', type: 'png' },
    html: true,
    text: true,
    links: true,
    pdf: false,
    assets: null,
    steps: [],
    contact: null,
    browser: { viewport: { width: 1280, height: 800 } },
  });
});

test('what belongs to the page as a whole is told the browser', () => {
  const { browser, assets, screenshot } = resolveCapture({
    url: 'https://example.com/',
    device: 'phone',
    headers: { 'x-a': 'b' },
    blockUrls: ['*.woff2'],
    cookies: [{ name: 'a', value: 'b', url: 'https://example.com/' }],
    assets: { kinds: ['image'], maxBytes: 10 },
    screenshot: { of: { selector: 'h1' }, type: 'webp', quality: 50 },
  });
  expect(browser).toEqual({
    viewport: { width: 390, height: 844, scale: 3, mobile: true },
    headers: { 'x-a': 'b' },
    blockUrls: ['*.woff2'],
    cookies: [{ name: 'a', value: 'b', url: 'https://example.com/' }],
  });
  expect(assets).toMatchObject({ kinds: ['image'], minBytes: 0, maxBytes: 10 });
  expect(screenshot).toEqual({ of: { selector: 'h1' }, type: 'webp', quality: 50 });
});

test.each<[object, string]>([
  [{}, 'option "url": expected a whole address'],
  [{ url: 'file:///etc/passwd' }, 'option "url"'],
  [{ url: 'example.com' }, 'option "url"'],
  [{ url: 'https://a.b', waitUntil: 'idle' }, 'option "waitUntil"'],
  [{ url: 'https://a.b', timeout: 'soon' }, 'option "timeout"'],
  [{ url: 'https://a.b', timeout: 0 }, 'option "timeout"'],
  [{ url: 'https://a.b', screenshot: true }, 'option "screenshot"'],
  [{ url: 'https://a.b', screenshot: { of: 'all' } }, 'option "screenshot"'],
  [{ url: 'https://a.b', screenshot: { type: 'gif' } }, 'option "screenshot"'],
  [{ url: 'https://a.b', assets: { kinds: ['video'] } }, 'option "assets"'],
  [{ url: 'https://a.b', assets: { maxBytes: 1e9 } }, 'option "assets"'],
  [{ url: 'https://a.b', assets: { most: 1 } }, 'option "assets"'],
  [{ url: 'https://a.b', steps: [{ hover: 'a' }] }, 'option "steps"'],
  [{ url: 'https://a.b', steps: [{ click: 'a', press: 'b' }] }, 'option "steps"'],
  [{ url: 'https://a.b', steps: [{ wait: 60_000 }] }, 'option "steps"'],
  [{ url: 'https://a.b', contact: 'me\r\nx: y' }, 'option "contact"'],
  [{ url: 'https://a.b', device: 'tv' }, 'option "device"'],
  [{ url: 'https://a.b', device: { width: 0, height: 1 } }, 'viewport'],
  [{ url: 'https://a.b', headers: { a: 1 } }, 'option "browser.headers"'],
  [{ url: 'https://a.b', screenshots: false }, 'Did you mean "screenshot"?'],
])('%j is refused', (given, message) => {
  expect(() => resolveCapture(given)).toThrow(message);
});

test('every problem is told at once', () => {
  expect(() => resolveCapture({ url: 'x', html: 1, wait: 2 })).toThrow(/3 problems/);
});
