import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Tab } from '../../../src/index.js';
import { chromes, type OpenChrome, openChrome } from '../../support/chrome.js';

const form = `<!doctype html><title>A form</title><body style="margin:0;height:3000px">
<input id=name value=old><textarea id=more></textarea><input id=day type=date>
<select id=size><option value=s>Small<option value=l>Large</select>
<button id=go onclick="document.querySelector('#out').textContent = [
  document.querySelector('#name').value, document.querySelector('#more').value,
  document.querySelector('#day').value, document.querySelector('#size').value].join('|')">Go</button>
<p id=out></p><a href="/next#x">Next  page</a><a href="/next#x">again</a><a href="mailto:a@b">mail</a>
<button id=under>Under</button>
<div style="position:fixed;right:0;top:0;width:50px;height:50px" id=lid></div>
<button id=covered style="position:fixed;right:0;top:0;width:50px;height:50px;z-index:-1">Covered</button>
<script>document.querySelector('#name').onkeydown = (event) => {
  if (event.key === 'Enter') document.title = 'entered';
};</script>`;

const pages: Readonly<Record<string, string>> = {
  '/form': form,
  '/next': '<!doctype html><title>Next</title><p>next page',
  '/hangs': '<!doctype html><title>Hangs</title><img src=/never>',
  '/refresh': '<!doctype html><meta http-equiv=refresh content="0;url=/next">',
  '/late':
    '<!doctype html><script>setTimeout(() => document.body.innerHTML = "<p id=late>late", 300)</script>',
};

let server: Server;
let origin = '';
beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    const page = pages[url];
    if (url === '/never') return;
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' });
    response.end(page ?? 'no such page');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe.each(chromes)('ctx.tab, $name', ({ name, find }) => {
  let open: OpenChrome;
  beforeAll(async () => {
    open = await openChrome(await find());
  }, 60_000);
  afterEach(() => open.clear());
  afterAll(() => open[Symbol.asyncDispose]());

  async function tabAt(path: string): Promise<Tab> {
    const { tab } = (await open.page()).members;
    await tab.goto(origin + path);
    return tab;
  }

  test('reads a page', async () => {
    const { tab } = (await open.page()).members;
    expect(await tab.goto(`${origin}/form`)).toEqual({ url: `${origin}/form`, status: 200, endedBy: 'load' });
    expect(await tab.title()).toBe('A form');
    expect(await tab.url()).toBe(`${origin}/form`);
    expect(await tab.html()).toMatch(/^<!DOCTYPE html>\n<html>/);
    expect(await tab.text('#go')).toBe('Go');
    expect(await tab.text()).toContain('Next page');
    expect(await tab.links()).toEqual([{ url: `${origin}/next#x`, text: 'Next page', rel: '' }]);
    expect((await tab.goto(`${origin}/missing`)).status).toBe(404);
  });

  test('fills a form and sends it', async () => {
    const tab = await tabAt('/form');
    await tab.fill('#name', 'Ada');
    await tab.fill('#more', 'two\nlines');
    await tab.fill('#day', '2026-12-01');
    await tab.select('#size', 'Large');
    await tab.click('#go');
    expect(await tab.text('#out')).toBe('Ada|two lines|2026-12-01|l');
    await tab.fill('#name', '');
    expect(await tab.evaluate('document.querySelector("#name").value')).toBe('');
    await tab.press('Control+A', { selector: '#name' });
    await tab.press('Enter', { selector: '#name' });
    expect(await tab.title()).toBe('entered');
  });

  test('scrolls, and takes pictures and PDFs', async () => {
    const tab = await tabAt('/form');
    await tab.scroll({ to: 'bottom' });
    expect(await tab.evaluate<number>('scrollY')).toBeGreaterThan(1_000);
    await tab.scroll({ to: 'top' });
    await tab.scroll({ by: 50 });
    expect(await tab.evaluate('scrollY')).toBe(50);
    const whole = await tab.screenshot({ of: 'page' });
    expect(whole.subarray(1, 4).toString()).toBe('PNG');
    expect(whole.readUInt32BE(20)).toBe(3_000);
    const part = await tab.screenshot({ of: { selector: '#go' }, type: 'jpeg' });
    expect(part.subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]));
    expect((await tab.pdf()).subarray(0, 5).toString()).toBe('%PDF-');
  });

  test('ends every call at once when the attempt is over or the page crashes', async () => {
    const over = new AbortController();
    const { members } = await open.page({ signal: over.signal });
    const stuck = members.tab.evaluate('new Promise(() => {})');
    over.abort(new Error('timed out'));
    await expect(stuck).rejects.toThrow('timed out');
    const { tab, cdp } = (await open.page()).members;
    await tab.goto(`${origin}/next`);
    const waiting = [tab.wait({ selector: '#none' }), tab.evaluate('new Promise(() => {})')];
    cdp.send('Page.crash').catch(() => undefined);
    for (const each of await Promise.allSettled(waiting))
      expect(each).toMatchObject({ status: 'rejected', reason: { code: 'page-crashed' } });
    await expect(tab.title()).rejects.toMatchObject({ code: 'page-crashed' });
  });

  // The rest hangs on the protocol alone.
  if (name !== chromes[0]?.name) return;

  test('runs code of the user in the page', async () => {
    const tab = await tabAt('/form');
    expect(await tab.evaluate(({ a }: { a: number }) => a + 1, { a: 1 })).toBe(2);
    expect(await tab.evaluate('Promise.resolve([1, 2])')).toEqual([1, 2]);
    await expect(tab.evaluate('missing.thing')).rejects.toMatchObject({
      code: 'page-script-failed',
      message: expect.stringContaining('ReferenceError: missing is not defined'),
    });
    await expect(tab.evaluate('for (;;);', { timeout: 200 })).rejects.toMatchObject({
      code: 'deadline-exceeded',
    });
    expect(await tab.title()).toBe('A form');
  });

  test('waits for what comes late, and says what did not come', async () => {
    const tab = await tabAt('/late');
    await tab.wait({ selector: '#late' });
    await tab.wait({ text: 'late' });
    await tab.wait({ selector: '#other', state: 'hidden' });
    await tab.wait({ script: 'document.title === ""' });
    await expect(tab.wait({ url: '/elsewhere' }, { timeout: 150 })).rejects.toMatchObject({
      code: 'deadline-exceeded',
      message: expect.stringContaining('url "/elsewhere"'),
    });
    await expect(tab.click('#none', { timeout: 150 })).rejects.toMatchObject({
      code: 'page-element-missing',
      message: expect.stringMatching(/tab\.click: expected a usable element "#none".*no element of the page/),
    });
    await expect(tab.click('p[', { timeout: 150 })).rejects.toMatchObject({ code: 'option-invalid' });
  });

  test('clicks on nothing that something else lies over', async () => {
    const tab = await tabAt('/form');
    await expect(tab.click('#covered', { timeout: 300 })).rejects.toThrow('<div id=lid> lies over it');
  });

  test('goes on from a page of which something hangs, and follows where pages lead', async () => {
    const { tab } = (await open.page()).members;
    expect(await tab.goto(`${origin}/hangs`, { waitUntil: 'quiet' })).toMatchObject({ endedBy: 'quiet' });
    expect(await tab.title()).toBe('Hangs');
    expect((await tab.goto(`${origin}/refresh`)).url).toBe(`${origin}/next`);
    expect(await tab.title()).toBe('Next');
  });

  test('opens nothing but pages of the web', async () => {
    const { tab } = (await open.page()).members;
    for (const url of ['file:///etc/passwd', 'chrome://version', 'view-source:http://a', 'a b'])
      await expect(tab.goto(url)).rejects.toMatchObject({ code: 'option-invalid' });
    await expect(tab.goto('http://127.0.0.1:1/')).rejects.toMatchObject({
      code: 'page-unreachable',
      message: expect.stringContaining('ERR_'),
    });
  });

  test('keeps the cookies of a job to that job', async () => {
    const tab = await tabAt('/form');
    await tab.setCookies([{ name: 'a', value: '1', url: origin }]);
    expect(await tab.cookies()).toMatchObject([{ name: 'a', value: '1', domain: '127.0.0.1' }]);
    expect(await (await tabAt('/form')).cookies()).toEqual([]);
  });
});
