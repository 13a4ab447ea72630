import { connect, type Socket } from 'node:net';
import { setInterval as every } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { bearer, guardedHub, makeToken } from './guarded-hub.js';

describe('a hub under pressure [memory]', () => {
  test('cuts who sends its headers a byte at a time, and serves others meanwhile', async () => {
    await using engine = await openEngine('memory');
    await using hub = await guardedHub(engine.storage, {
      limits: { headersTimeoutMs: 1_500, requestTimeoutMs: 3_000 },
    });
    const slow = connect(hub.port, '127.0.0.1');
    const ended = endOf(slow);
    slow.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ');
    const stopped = new AbortController();
    const dripping = drip(slow, stopped.signal);
    let served = 0;
    const answer = await Promise.race([ended, serveUntil(stopped.signal)]);
    stopped.abort();
    await dripping;
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(served).toBeGreaterThan(0);

    async function serveUntil(signal: AbortSignal): Promise<string> {
      while (!signal.aborted) {
        expect((await hub.ask('/healthz')).status).toBe(200);
        served += 1;
      }
      return 'served';
    }
  });

  test('cuts who promises a body and does not send it', async () => {
    await using engine = await openEngine('memory');
    await using hub = await guardedHub(engine.storage, {
      limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 2_000 },
    });
    const answer = await hub.raw(
      'POST /submits HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('refuses a body that is too large, whether it says so before or not, and headers that are', async () => {
    await using engine = await openEngine('memory');
    await using hub = await guardedHub(engine.storage);
    const large = JSON.stringify({ text: 'x'.repeat(2 * 1024 ** 2) });
    expect((await hub.ask('/submits', { body: large })).status).toBe(413);
    const chunk = 'x'.repeat(64 * 1024);
    const chunks = Array.from({ length: 40 }, () => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    const chunked = await hub
      .raw(
        'POST /submits HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n',
        ...chunks,
      )
      .catch((error: NodeJS.ErrnoException) => error.code);
    expect(chunked).toMatch(/^(HTTP\/1\.1 413 |ECONNRESET|EPIPE)/);
    const header = await hub.raw(
      `GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-large: ${'x'.repeat(20_000)}\r\n\r\n`,
    );
    expect(header).toMatch(/^HTTP\/1\.1 431 /);
    expect((await hub.ask('/healthz')).status).toBe(200);
  });

  test('answers 429 and when to come back to who asks too often, by address and by token', async () => {
    await using engine = await openEngine('memory');
    await using hub = await guardedHub(engine.storage, { settings: { hubRateLimit: 1 } });
    const answers = [];
    for (let index = 0; index < 20; index += 1) answers.push(await hub.ask('/healthz'));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json()).toMatchObject({ code: 'rate-limited', retryable: true });
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    const sockets = Array.from({ length: 20 }, () => hub.link(null));
    expect(await Promise.all(sockets.map(({ outcome }) => outcome))).toContain(429);
    for (const { socket } of sockets) socket.terminate();
    await waitFor(async () => (await hub.ask('/healthz')).status === 200, {
      describe: 'the address may ask again',
      deadlineMs: 20_000,
      intervalMs: 1_500,
    });
  });

  test('takes so many connections of an address and sockets with a token, and no more', async () => {
    await using engine = await openEngine('memory');
    await using hub = await guardedHub(engine.storage, { settings: { hubMaxConnections: 3 } });
    const { token } = await makeToken(engine.storage, 'worker');
    const links = [hub.link(token), hub.link(token), hub.link(token)];
    for (const { outcome } of links) expect(await outcome).toBe('in');
    const beyond = await hub.raw('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n').catch(() => 'reset');
    expect(beyond).toMatch(/^(HTTP\/1\.1 429 |reset)/);
    for (const { socket } of links) socket.terminate();
    await waitFor(async () => (await hub.ask('/healthz')).status === 200, {
      describe: 'there is room again',
      deadlineMs: 20_000,
    });
  });

  test('slows down who guesses, never who knows, and logs it without what was sent', async () => {
    await using engine = await openEngine('memory');
    await using hub = await guardedHub(engine.storage);
    const { token } = await makeToken(engine.storage, 'read');
    const guesses = Array.from(
      { length: 40 },
      (_, index) => `${token.slice(0, -4)}${String(index).padStart(4, '0')}`,
    ).filter((guess) => guess !== token);
    const answers = await Promise.all(
      guesses.map((guess) => hub.ask('/reads/1', { headers: bearer(guess) })),
    );
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].sort()).toEqual([401, 429]);
    expect(answers.find(({ status }) => status === 429)?.headers['retry-after']).toBeDefined();
    expect((await hub.ask('/reads/1', { headers: bearer(token) })).status).toBe(200);
    const log = hub.lines.join('\n');
    expect(log).toContain('auth: refused');
    expect(log).toContain('address=127.0.0.1');
    expect(log).not.toContain(token.slice(16, 60));
    for (const { text } of answers) expect(text).not.toContain(token.slice(16, 60));
  });

  test('lets nobody in while the tokens cannot be read, and cuts no socket for that', async () => {
    await using engine = await openEngine('sqlite');
    const storage = (await engine.another?.()) ?? engine.storage;
    await using hub = await guardedHub(storage);
    const { token } = await makeToken(engine.storage, 'admin');
    const link = hub.link(token);
    expect(await link.outcome).toBe('in');
    await storage.close();
    const answer = await waitFor(
      async () => {
        const got = await hub.ask('/reads/1', { headers: bearer(token) });
        return got.status === 503 ? got : null;
      },
      { describe: 'the hub says that it cannot know', deadlineMs: 20_000 },
    );
    expect(answer.headers['retry-after']).toBeDefined();
    expect((await hub.ask('/reads/1')).status).toBe(503);
    await waitFor(() => hub.lines.some((line) => line.includes('they stay open')), {
      describe: 'the open socket was looked at',
      deadlineMs: 20_000,
    });
    expect(link.socket.readyState).toBe(link.socket.OPEN);
    expect((await hub.ask('/healthz')).status).toBe(200);
  });
});

function endOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  return new Promise((resolve) => {
    socket.on('error', () => undefined).on('close', () => resolve(text));
  });
}

async function drip(socket: Socket, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of every(100, undefined, { signal })) if (socket.writable) socket.write('x');
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
