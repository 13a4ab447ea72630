import { expect, it } from 'vitest';
import { parseBrowserOptions } from './browser-options.js';
import { defineJob } from './define-job.js';

it('the browser options of a job are taken as they are, when they can be used', () => {
  const given = {
    viewport: { width: 390, height: 844, mobile: true },
    locale: 'de-DE',
    timeZone: 'Europe/Berlin',
  };
  expect(parseBrowserOptions(given)).toEqual(given);
  expect(defineJob('a', { lane: 'browser', browser: given }).browser).toEqual(given);
});

it('the browser options of a job are refused with every problem', () => {
  const given = {
    viewport: { width: 0, height: 1 },
    timeZone: 'Mars/Base',
    locale: 'x',
    headers: { a: 1 },
    cookies: [{ name: 'a', value: '1' }],
    blockUrls: 'x',
    viewPort: 1,
  };
  const names = ['viewport', 'timeZone', 'locale', 'headers', 'cookies', 'blockUrls', 'viewPort'];
  for (const name of names) expect(() => parseBrowserOptions(given)).toThrow(`"browser.${name}"`);
  expect(() => defineJob('a', { lane: 'browser', browser: given as never })).toThrow(/job "a".*viewport/s);
});

it('a job of another lane has no browser options', () => {
  const options = { browser: { locale: 'de' } } as object;
  expect(() => defineJob('a', options)).toThrow(/option "browser": expected with lane 'browser'/);
});
