import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { folderBytes } from '../../../src/browser/lane/folder-bytes.js';
import { BrowserLaneBench } from '../../support/browser-lane-bench.js';

const megabyte = 1024 ** 2;
let server: Server;
let origin = '';
beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    if (url.startsWith('/round/')) {
      response.writeHead(302, { location: `/round/${Number(url.slice(7)) + 1}` });
      response.end();
      return;
    }
    const isFile = url === '/download';
    response.writeHead(200, {
      'content-type': isFile ? 'application/octet-stream' : 'text/html',
      ...(isFile ? { 'content-disposition': 'attachment; filename=big.bin' } : {}),
    });
    const chunk = isFile ? Buffer.alloc(megabyte, 1) : Buffer.from('<p>and so on</p>');
    const send = (): void => {
      if (!response.destroyed) response.write(chunk, () => setImmediate(send));
    };
    response.write('<!doctype html><title>On and on</title>');
    send();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test.each([
  ['redirects without end', '/round/0'],
  ['streams without end', '/stream'],
  ['is a download without end', '/download'],
])('a page that %s ends within its deadline, and its lane is clean', { timeout: 60_000 }, async (_, path) => {
  await using bench = await new BrowserLaneBench().started();
  const { pid } = bench;
  const startedAtMs = performance.now();
  const ending = await bench.run(({ tab }) => tab.goto(origin + path, { timeout: '3s' }));
  expect(ending.kind).toBe('settled');
  expect(performance.now() - startedAtMs).toBeLessThan(15_000);
  expect(await bench.run(({ tab }) => tab.evaluate('6 * 7'))).toMatchObject({ settlement: { result: '42' } });
  expect(bench.lane.snapshot()).toMatchObject({ pid, restarts: 0, state: 'idle', note: null });
  expect(await folderBytes(bench.lane.folder ?? '')).toBeLessThan(64 * megabyte);
});
