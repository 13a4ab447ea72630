import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { GuardProxy } from '../../../src/browser/net/guard-proxy.js';
import { TargetPolicy } from '../../../src/browser/net/target-policy.js';
import { PrivateTargets } from '../../../src/internal/private-targets.js';
import { chromes, type OpenChrome, openChrome } from '../../support/chrome.js';
import { waitFor } from '../../support/wait-for.js';

const open = '93.184.216.34';
const secret = 'the secret of a private server';

/** What the tests call the internet: a server that answers for public names, and one that nobody may reach. */
class Web {
  readonly hits: string[] = [];
  readonly addresses = new Map<string, string[][]>();
  readonly site: Server;
  readonly inner: Server;
  pages = new Map<string, (response: ServerResponse, request: IncomingMessage) => void>();

  constructor() {
    this.site = createServer((request, response) => {
      const page = this.pages.get(request.url ?? '');
      response.setHeader('content-type', 'text/html');
      if (page === undefined) response.end('<title>public</title>');
      else page(response, request);
    });
    this.inner = createServer((request, response) => {
      this.hits.push(`${request.headers.host}${request.url}`);
      response.setHeader('access-control-allow-origin', '*').end(secret);
    });
    new WebSocketServer({ server: this.inner }).on('connection', () => this.hits.push('websocket'));
  }

  async start(): Promise<void> {
    for (const server of [this.site, this.inner])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }

  stop(): void {
    for (const server of [this.site, this.inner]) {
      server.closeAllConnections();
      server.close();
    }
  }

  get innerPort(): number {
    return (this.inner.address() as AddressInfo).port;
  }

  guard(options: { targets?: string; closed?: { host: string; port: number }[] } = {}): GuardProxy {
    const { targets = 'none', closed = [] } = options;
    return new GuardProxy({
      policy: new TargetPolicy({
        privateTargets: PrivateTargets.parse(targets) as PrivateTargets,
        closed,
      }),
      resolve: (name) => {
        const answers = this.addresses.get(name);
        if (answers === undefined)
          return Promise.reject(Object.assign(new Error(name), { code: 'ENOTFOUND' }));
        return Promise.resolve((answers.length > 1 ? answers.shift() : answers[0]) as string[]);
      },
      // The public address is that of the one server; what was judged otherwise is connected to as it is.
      connect: ({ host, port }): Socket =>
        host === open ? connect((this.site.address() as AddressInfo).port, '127.0.0.1') : connect(port, host),
    });
  }
}

describe.each(chromes)('what pages may reach, by $name', ({ find }) => {
  const web = new Web();
  let chrome: OpenChrome;
  const guard = web.guard();
  beforeAll(async () => {
    await web.start();
    chrome = await openChrome(await find(), guard);
  }, 60_000);
  afterAll(async () => {
    await chrome[Symbol.asyncDispose]();
    web.stop();
  });

  const tab = async () => {
    await chrome.clear();
    web.hits.length = 0;
    web.pages.clear();
    web.addresses.clear();
    web.addresses.set('public.test', [[open]]);
    return (await chrome.page()).members.tab;
  };
  const inner = (host = '127.0.0.1'): string => `http://${host}:${web.innerPort}/`;

  test('a public page is opened', async () => {
    const page = await tab();
    expect(await page.goto('http://public.test/')).toMatchObject({ status: 200, url: 'http://public.test/' });
    expect(await page.title()).toBe('public');
  });

  test.each([
    'http://localhost/',
    'http://a.localhost/',
    'http://127.1/',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://0.0.0.0/',
  ])('%s is refused before anything is asked', async (url) => {
    const page = await tab();
    await expect(page.goto(url)).rejects.toMatchObject({ code: 'target-refused' });
    expect(web.hits).toEqual([]);
  });

  test.each(['file:///etc/passwd', 'chrome://version', 'view-source:http://public.test/', 'javascript:1'])(
    '%s is no address to open',
    async (url) => {
      const page = await tab();
      await expect(page.goto(url)).rejects.toMatchObject({ code: 'option-invalid' });
    },
  );

  test('a name that stands for a private address is refused', async () => {
    const page = await tab();
    web.addresses.set('inner.test', [['127.0.0.1']]);
    await expect(page.goto(inner('inner.test'))).rejects.toMatchObject({
      code: 'target-refused',
      message: expect.stringContaining('inner.test (127.0.0.1) is not of the public internet') as unknown,
    });
    expect(web.hits).toEqual([]);
  });

  test('a name with one private address among public ones is refused', async () => {
    const page = await tab();
    web.addresses.set('both.test', [[open, '127.0.0.1']]);
    await expect(page.goto(inner('both.test'))).rejects.toMatchObject({ code: 'target-refused' });
  });

  test('a name that changes its address after it was judged gains nothing', async () => {
    const page = await tab();
    web.addresses.set('rebound.test', [[open], ['127.0.0.1']]);
    web.pages.set('/', (response) => response.setHeader('connection', 'close').end('<title>first</title>'));
    await page.goto(`http://rebound.test:${web.innerPort}/`);
    const read = await page.evaluate<string>(`fetch('/again').then((r) => r.text()).catch(() => 'failed')`);
    expect(read).toBe('failed');
    expect(web.hits).toEqual([]);
  });

  test('a redirect to a private address is refused, and says where it led', async () => {
    const page = await tab();
    web.pages.set('/away', (response) => response.writeHead(302, { location: inner() }).end());
    await expect(page.goto('http://public.test/away')).rejects.toMatchObject({
      code: 'target-refused',
      message: expect.stringContaining(`which leads to ${inner()}`) as unknown,
    });
    expect(web.hits).toEqual([]);
  });

  test('no part of a page comes from a private address', async () => {
    const page = await tab();
    const url = inner();
    web.pages.set('/parts', (response) =>
      response.end(`<title>parts</title><img src="${url}img"><iframe src="${url}frame"></iframe>
        <link rel="stylesheet" href="${url}css"><script src="${url}script"></script>
        <script>
          window.said = [];
          fetch('${url}fetch').then(() => said.push('fetched'), () => said.push('no fetch'));
          const socket = new WebSocket('${url.replace('http', 'ws')}');
          socket.onopen = () => said.push('socket'); socket.onerror = () => said.push('no socket');
          const worker = new Worker(URL.createObjectURL(new Blob(["fetch('${url}worker').then(() => postMessage('worker'), () => postMessage('no worker'))"])));
          worker.onmessage = ({ data }) => said.push(data);
          navigator.sendBeacon('${url}beacon');
        </script>`),
    );
    await page.goto('http://public.test/parts', { waitUntil: 'domcontentloaded' });
    const said = await waitFor(
      async () => {
        const list = await page.evaluate<string[]>('[...said].sort()');
        return list.length === 3 && list;
      },
      { describe: 'the page to have tried it' },
    );
    expect(said).toEqual(['no fetch', 'no socket', 'no worker']);
    expect(web.hits).toEqual([]);
  });

  test('a host that is not there, and one that does not listen, are told as such', async () => {
    const page = await tab();
    await expect(page.goto('http://nowhere.test/')).rejects.toMatchObject({
      code: 'page-unreachable',
      message: expect.stringContaining('there is no such host') as unknown,
    });
  });

  test('a page does not get to file addresses', async () => {
    const page = await tab();
    web.pages.set('/file', (response) =>
      response.end(`<title>still here</title><iframe src="file:///etc/passwd"></iframe>
        <script>setTimeout(() => { location.href = 'file:///etc/passwd' })</script>`),
    );
    await page.goto('http://public.test/file');
    expect(await page.title()).toBe('still here');
    expect(await page.url()).toBe('http://public.test/file');
  });

  test('nor does a handler that passes one on by the protocol or by Puppeteer', async () => {
    await tab();
    const { members } = await chrome.page({ hasPuppeteer: true });
    expect(await members.cdp.send('Page.navigate', { url: 'file:///etc/passwd' })).toMatchObject({
      errorText: 'net::ERR_ACCESS_DENIED',
    });
    await expect(members.page.goto('file:///etc/passwd')).rejects.toThrow('ERR_ACCESS_DENIED');
    expect(members.page.url()).not.toContain('file:');
    const opened = await members.page.goto('http://public.test/');
    expect(opened?.status()).toBe(200);
  });
});

describe('what an operator allows', () => {
  test('a target by its port, and nothing beside it; our own doors never', async () => {
    const web = new Web();
    await web.start();
    const find = (chromes[0] as (typeof chromes)[number]).find;
    const port = web.innerPort;
    const other = createServer((_, response) => response.end('other'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const otherPort = (other.address() as AddressInfo).port;
    const closed = [{ host: 'localhost', port: otherPort }];
    web.addresses.set('localhost', [['127.0.0.1']]);
    const guard = web.guard({ targets: `127.0.0.1, localhost:${port}`, closed });
    await using chrome = await openChrome(await find(), guard);
    const page = (await chrome.page()).members.tab;
    expect(await page.goto(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
    expect(await page.text()).toBe(secret);
    expect(await page.goto(`http://localhost:${port}/`)).toMatchObject({ status: 200 });
    for (const url of [`http://127.0.0.1:${otherPort}/`, `http://localhost:${otherPort}/`])
      await expect(page.goto(url)).rejects.toMatchObject({ code: 'target-refused' });
    web.stop();
    other.closeAllConnections();
    other.close();
  }, 60_000);
});
