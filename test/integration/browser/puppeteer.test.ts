import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { chromes, type OpenChrome, openChrome } from '../../support/chrome.js';

describe.each(chromes)('ctx.page of Puppeteer, $name', ({ name, find }) => {
  let open: OpenChrome;
  beforeAll(async () => {
    open = await openChrome(await find());
  }, 60_000);
  afterEach(() => open.clear());
  afterAll(() => open[Symbol.asyncDispose]());

  const openPage = (signal?: AbortSignal) =>
    open.page({ hasPuppeteer: true, ...(signal === undefined ? {} : { signal }) });

  test('is the page that the tab has, and each job has its own', async () => {
    const { members } = await openPage();
    await members.page.goto('data:text/html,<title>One</title><button onclick="document.title=2">Go');
    expect(await members.tab.title()).toBe('One');
    await members.page.click('button');
    expect(await members.tab.title()).toBe('2');
    const other = await openPage();
    expect(await other.members.page.title()).toBe('');
    expect(other.members.page.url()).toBe('about:blank');
  });

  // The rest hangs on the protocol alone.
  if (name !== chromes[0]?.name) return;

  test('ends its calls when the page crashes, which Puppeteer alone never does', async () => {
    const { page, cdp } = (await openPage()).members;
    await page.goto('data:text/html,<title>One</title>');
    const waiting = [page.evaluate('new Promise(() => {})'), page.waitForSelector('#none')];
    cdp.send('Page.crash').catch(() => undefined);
    const ended = await Promise.allSettled(waiting);
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(page.title()).rejects.toThrow();
  });

  test('ends its calls with the attempt', async () => {
    const over = new AbortController();
    const { page } = (await openPage(over.signal)).members;
    const waiting = page.evaluate('new Promise(() => {})');
    over.abort(new Error('timed out'));
    await expect(waiting).rejects.toThrow();
  });

  test('is gone with its context, and the next job has another', async () => {
    const { page } = (await openPage()).members;
    await open.clear();
    await expect(page.title()).rejects.toThrow();
    expect(await (await openPage()).members.page.evaluate('6 * 7')).toBe(42);
  });
});
