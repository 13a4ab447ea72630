import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { capturePage } from '../../../src/browser/capture/index.js';
import type { CapturedAsset } from '../../../src/client/capture/capture-result.js';
import { Millrace, pageCapture } from '../../../src/index.js';
import { silentLogger as logger } from '../../../src/internal/logger.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import { type ChromeProcesses, noteChromes } from '../../support/chrome-processes.js';
import { type TempDir, tempDir } from '../../support/temp.js';

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const shown = `<!doctype html><html lang="de"><head><title>Seite &lt;1&gt;</title>
  <meta name="description" content="Probe"><meta property="og:title" content="Seite">
  <link rel="canonical" href="/kanon"><link rel="stylesheet" href="/style.css"></head>
  <body><h1>Hallo</h1><a href="/weiter">Weiter</a><img src="/a.png"><img src="/b.png">
  <button onclick="document.querySelector('h1').textContent = 'Gedrückt'">Drück</button><input>
  <script>console.error('schlecht', 1); setTimeout(() => { throw new Error('ganz schlecht') })</script></body></html>`;

const pages: Readonly<Record<string, (response: ServerResponse, server: Web) => void>> = {
  '/': (response) => html(response, shown),
  '/away': (response) => response.writeHead(302, { location: '/away2' }).end(),
  '/away2': (response) => response.writeHead(301, { location: '/' }).end(),
  '/missing': (response) => html(Object.assign(response, { statusCode: 404 }), '<title>fehlt</title>'),
  '/hangs': (response) => html(response, '<title>hängt</title><img src="/never"><p>da</p>'),
  '/never': () => undefined,
  '/silent': () => undefined,
  '/style.css': (response) => response.setHeader('content-type', 'text/css').end('h1 { color: red }'),
  '/a.png': (response) => response.setHeader('content-type', 'image/png').end(pixel),
  '/b.png': (response) => response.setHeader('content-type', 'image/png').end(pixel),
  '/big.css': (response) => response.setHeader('content-type', 'text/css').end(' '.repeat(200_000)),
  '/bigs': (response) => html(response, '<link rel="stylesheet" href="/big.css"><img src="/a.png">'),
  '/alerts': (response) => html(response, '<title>ruft</title><script>alert(1); confirm(2)</script>'),
  '/stays': (response) =>
    html(
      response,
      '<title>bleibt</title><script>onbeforeunload = (event) => event.preventDefault()</script>',
    ),
  '/lazy': (response) =>
    html(
      response,
      '<div style="height: 4000px">hoch</div><img loading="lazy" src="/a.png"><p id="end">Ende</p>',
    ),
  '/spins': (response) =>
    html(response, '<title>dreht</title><p>da</p><script>setTimeout(() => { for (;;); }, 1500)</script>'),
};

const html = (response: ServerResponse, text: string): void =>
  void response.setHeader('content-type', 'text/html; charset=utf-8').end(text);

class Web {
  readonly agents = new Set<string>();
  readonly server: Server = createServer((request, response) => {
    this.agents.add(request.headers['user-agent'] ?? '');
    const page = pages[request.url ?? ''];
    if (page === undefined) response.writeHead(404).end();
    else page(response, this);
  });

  url(path = '/'): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`;
  }
}

describe('a page that is captured', () => {
  const web = new Web();
  let chromes: ChromeProcesses;
  beforeAll(async () => {
    chromes = noteChromes();
    await new Promise<void>((resolve) => web.server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    web.server.closeAllConnections();
    web.server.close();
    expect(chromes.left()).toEqual([]);
  });

  const captured = (dir: TempDir, path: string, options: object = {}) =>
    capturePage(web.url(path), { folder: dir.file('out'), privateTargets: '127.0.0.1', ...options });
  const read = (dir: TempDir, name: string): string => readFileSync(dir.file('out', name), 'utf8');

  test('is kept as text, links, HTML and a picture, and told of', async () => {
    await using dir = tempDir('capture');
    const told: string[] = [];
    const result = await captured(dir, '/away', {
      contact: 'bot@example.com',
      onProgress: (done: number, total: number, phase: string) => told.push(`${done}/${total} ${phase}`),
    });
    expect(result).toMatchObject({
      url: web.url('/away'),
      finalUrl: web.url(),
      status: 200,
      redirects: [web.url('/away'), web.url('/away2')],
      title: 'Seite <1>',
      language: 'de',
      meta: { description: 'Probe', 'og:title': 'Seite', canonical: web.url('/kanon') },
      endedBy: 'load',
      partial: false,
      problems: [],
    });
    expect(result.consoleErrors[0]).toBe('schlecht 1');
    expect(result.consoleErrors[1]).toContain('ganz schlecht');
    expect(result.counts.requests).toBeGreaterThanOrEqual(5);
    expect(result.files.map(({ name }) => name)).toEqual([
      'page.html',
      'page.txt',
      'links.json',
      'screenshot.png',
    ]);
    expect(read(dir, 'page.txt')).toContain('Hallo');
    expect(read(dir, 'page.html')).toContain('<h1>Hallo</h1>');
    expect(JSON.parse(read(dir, 'links.json'))).toMatchObject([{ url: web.url('/weiter'), text: 'Weiter' }]);
    expect(readFileSync(dir.file('out', 'screenshot.png')).subarray(1, 4).toString()).toBe('PNG');
    expect(told.at(0)).toBe('0/6 opening');
    expect(told.at(-1)).toBe('5/6 screenshot');
    expect(
      [...web.agents].some((agent) => /Headless.* Millrace\/\d.* \(\+bot@example\.com\)$/.test(agent)),
    ).toBe(true);
  });

  test('keeps what the browser received, each content once, and names what is too large', async () => {
    await using dir = tempDir('capture');
    const result = await captured(dir, '/', { assets: true });
    const assets = JSON.parse(read(dir, 'assets.json')) as CapturedAsset[];
    const byUrl = new Map(assets.map((asset) => [asset.url, asset]));
    expect([...byUrl.keys()].sort()).toEqual([web.url('/a.png'), web.url('/b.png'), web.url('/style.css')]);
    const [a, b] = [byUrl.get(web.url('/a.png')), byUrl.get(web.url('/b.png'))];
    expect(a).toMatchObject({ kind: 'image', type: 'image/png', sizeBytes: pixel.length, missing: null });
    expect(b?.name).toBe(a?.name);
    expect(readFileSync(dir.file('out', a?.name ?? ''))).toEqual(pixel);
    expect(result.files.filter(({ name }) => name.startsWith('asset-')).length).toBe(2);
    const bounded = await captured(dir, '/bigs', { assets: { maxBytes: 1_000 } });
    expect(bounded).toMatchObject({ partial: true, problems: [{ part: 'assets' }], counts: { assets: 1 } });
    const listed = JSON.parse(read(dir, 'assets.json')) as CapturedAsset[];
    expect(listed.find(({ url }) => url.endsWith('big.css'))).toMatchObject({
      name: null,
      sizeBytes: 200_000,
      missing: 'larger than 1000 bytes',
    });
  });

  test('is kept as a 404 page is, and as one whose image never comes', async () => {
    await using dir = tempDir('capture');
    expect(await captured(dir, '/missing')).toMatchObject({ status: 404, title: 'fehlt', partial: false });
    const hung = await captured(dir, '/hangs', { waitUntil: 'quiet' });
    expect(hung).toMatchObject({ title: 'hängt', endedBy: 'quiet', partial: false });
    expect(read(dir, 'page.txt')).toContain('da');
  });

  test('is worked on by steps, and loads what is lazy', async () => {
    await using dir = tempDir('capture');
    const steps = [{ click: 'button' }, { fill: 'input', value: 'x' }, { wait: 50 }, { scroll: 'top' }];
    const worked = await captured(dir, '/', {
      steps,
      screenshot: { of: { selector: 'h1' }, type: 'jpeg' },
      pdf: true,
    });
    expect(worked.problems).toEqual([]);
    expect(read(dir, 'page.txt')).toContain('Gedrückt');
    expect(readFileSync(dir.file('out', 'page.pdf')).subarray(0, 4).toString()).toBe('%PDF');
    const lazy = await captured(dir, '/lazy', { assets: true, html: false, text: false, links: false });
    expect(lazy).toMatchObject({ counts: { assets: 1 } });
  });

  test('tells what is missing, and keeps the rest', async () => {
    await using dir = tempDir('capture');
    const result = await captured(dir, '/', {
      timeout: '4s',
      waitFor: '#nowhere',
      screenshot: { of: { selector: '#nowhere' } },
    });
    expect(result.partial).toBe(true);
    expect(result.problems.map(({ part }) => part)).toEqual(['wait', 'screenshot']);
    expect(read(dir, 'page.txt')).toContain('Hallo');
  });

  test('is not held up by dialogs', async () => {
    await using dir = tempDir('capture');
    expect(await captured(dir, '/alerts')).toMatchObject({ title: 'ruft', partial: false });
    expect(await captured(dir, '/stays')).toMatchObject({ title: 'bleibt', partial: false });
  });

  test('killed half-way, is what was kept before, and says so', async () => {
    await using dir = tempDir('capture');
    const before = noteChromes();
    const result = await captured(dir, '/', {
      onProgress: (_done: number, _total: number, phase: string) => {
        if (phase === 'screenshot') for (const pid of before.left()) process.kill(Number(pid), 'SIGKILL');
      },
      pdf: true,
    });
    expect(result.partial).toBe(true);
    expect(result.problems.map(({ part }) => part)).toEqual(['screenshot', 'pdf']);
    expect(result.problems[1]?.code).toBe('page-crashed');
    expect(result.files.map(({ name }) => name)).toEqual(['page.html', 'page.txt', 'links.json']);
    expect(read(dir, 'page.txt')).toContain('Hallo');
  });

  test('ends by its time where its script does not', async () => {
    await using dir = tempDir('capture');
    const startedAt = performance.now();
    const result = await captured(dir, '/spins', { timeout: '4s', steps: [{ wait: 2_000 }] });
    expect(result.partial).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    // Its script was stopped, so the rest could be kept.
    expect(read(dir, 'page.txt')).toContain('da');
  }, 60_000);

  test.each<[string, object, string]>([
    ['/', { privateTargets: 'none' }, 'target-refused'],
    ['/silent', { timeout: '1s' }, 'deadline-exceeded'],
    ['/', { chromePath: '/nowhere/chrome' }, 'chrome-missing'],
    ['/', { folder: '/etc/hostname/out' }, 'folder-unusable'],
    ['/', { privateTargets: 'a b' }, 'option-invalid'],
    ['/', { colour: true }, 'option-unknown'],
  ])('%s with %j ends with %s', async (path, options, code) => {
    await using dir = tempDir('capture');
    await expect(captured(dir, path, options)).rejects.toMatchObject({ code });
  });

  test('a worker with browser lanes captures, and keeps the files with the job', async () => {
    await using dir = tempDir('capture');
    await using millrace = new Millrace({
      ...{ database: `sqlite:${dir.file('queue.db')}`, logger },
      settings: resolveSettings({
        config: { browserPrivateTargets: '127.0.0.1', files: dir.file('files') },
      }).values,
    });
    await using worker = millrace.worker({ browserLanes: 1 });
    await worker.start();
    const handle = await millrace.dispatch(pageCapture, { url: web.url(), assets: true });
    const result = await handle.result({ timeout: '30s' });
    expect(result).toMatchObject({ title: 'Seite <1>', partial: false });
    const files = await millrace.files(handle.id);
    expect(files.map(({ name }) => name).sort()).toEqual(result.files.map(({ name }) => name).sort());
    expect(result.files.every(({ id }) => files.some((file) => file.id === id))).toBe(true);
    const byName = await millrace.dispatch('page.capture', { url: web.url(), screenshot: false });
    expect(await byName.result({ timeout: '30s' })).toMatchObject({ status: 200 });
    await expect(millrace.dispatch('page.capture', { url: 'nothing' })).rejects.toMatchObject({
      code: 'option-invalid',
    });
  }, 60_000);
});
