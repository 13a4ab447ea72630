import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openEngine, type TestEngine } from '../../support/engines.js';
import { bearer, type GuardedHub, guardedHub, makeToken } from './guarded-hub.js';

let engine: TestEngine;
let hub: GuardedHub;
let admin: string;

beforeAll(async () => {
  engine = await openEngine('memory');
  hub = await guardedHub(engine.storage);
  admin = (await makeToken(engine.storage, 'admin')).token;
});

afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
});

describe('a page of another site [memory]', () => {
  test('that gave its own name the address of the hub is refused on every route, by its Host', async () => {
    for (const path of ['/healthz', '/reads/1', '/nowhere']) {
      const answer = await hub.ask(path, { headers: { ...bearer(admin), host: 'evil.example' } });
      expect(answer.status).toBe(421);
      expect(answer.headers['content-type']).toContain('application/problem+json');
      expect(answer.json()).toMatchObject({ code: 'host-refused', status: 421 });
    }
    expect(await hub.link(admin, { host: 'evil.example' }).outcome).toBe(421);
  });

  test('can change nothing: a write with its Origin is refused, also with a token that may', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://localhost:3000']) {
      const answer = await hub.ask('/admins', { body: {}, headers: { ...bearer(admin), origin } });
      expect(answer.status).toBe(403);
      expect(answer.json()).toMatchObject({ code: 'origin-refused' });
    }
    const fetched = await hub.ask('/admins', {
      body: {},
      headers: { ...bearer(admin), 'sec-fetch-site': 'cross-site' },
    });
    expect(fetched.status).toBe(403);
    const own = { ...bearer(admin), origin: `http://127.0.0.1:${hub.port}` };
    expect((await hub.ask('/admins', { body: {}, headers: own })).status).toBe(200);
  });

  test('can open no socket', async () => {
    expect(await hub.link(admin, { origin: 'https://evil.example' }).outcome).toBe(403);
    const own = hub.link(admin, { origin: `http://127.0.0.1:${hub.port}` });
    expect(await own.outcome).toBe('in');
    own.socket.terminate();
  });

  test('can send no form: a body that is no JSON is refused', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
    ]) {
      const answer = await hub.ask('/submits', {
        body: '{}',
        headers: { ...bearer(admin), 'content-type': type },
      });
      expect(answer.status).toBe(415);
      expect(answer.json()).toMatchObject({ code: 'content-type-unsupported' });
    }
  });

  test('can read nothing: no answer allows another origin', async () => {
    const headers = {
      ...bearer(admin),
      origin: 'https://evil.example',
      'access-control-request-method': 'GET',
    };
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await hub.ask('/reads/1', { method, headers });
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    }
  });
});

describe('an answer [memory]', () => {
  test('tells browsers to take it for what it is, also when it refuses', async () => {
    for (const path of ['/healthz', '/reads/1', '/nowhere']) {
      const { headers } = await hub.ask(path);
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
      expect(headers['content-security-policy']).toContain("default-src 'none'");
    }
  });

  test('that is a page may load files of the hub, and nothing else', async () => {
    const { status, headers, text } = await hub.ask('/docs');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(text).not.toMatch(/<script>|<style>| style=| on\w+=/);
  });

  test('that is a stream says the same as others', async () => {
    const { id } = (
      await hub.ask('/jobs', { body: { name: 'a', payload: {} }, headers: bearer(admin) })
    ).json();
    const stream = await hub.stream(`/jobs/${String(id)}/events`, bearer(admin));
    expect(stream.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' });
    stream.end();
    await stream.ended;
  });

  test('has no header that the asker wrote', async () => {
    const split = 'x%0d%0aset-cookie:%20stolen=1';
    const answer = await hub.ask(`/reads/${split}`, { headers: bearer(admin) });
    expect(answer.headers['set-cookie']).toBeUndefined();
    const rawAnswer = await hub.raw(
      `GET /reads/${split} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\n folded: y\r\nconnection: close\r\n\r\n`,
    );
    expect(rawAnswer).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(rawAnswer.toLowerCase()).not.toContain('\r\nset-cookie');
  });
});

describe('an address [memory]', () => {
  test('with a token in it is refused, however it is spelled, and for sockets too', async () => {
    const encoded = admin.replace('mr_', 'mr%5F');
    for (const path of [
      `/reads/1?token=${admin}`,
      `/reads/${admin}`,
      `/reads/1?x=${encoded}`,
      '/reads/1?access_token=abc',
      '/healthz?token=',
    ]) {
      const answer = await hub.ask(path, { headers: bearer(admin) });
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({ code: 'token-in-url' });
      expect(answer.text).not.toContain(admin.slice(16));
    }
    expect(await hub.live(`?token=${admin}`).outcome).toBe(400);
  });

  test('that climbs out of its folder finds nothing', async () => {
    for (const path of [
      '/reads/../../etc/passwd',
      '/reads/..%2f..%2fetc%2fpasswd',
      '/reads/%2e%2e/%2e%2e/etc/passwd',
      '/reads/%00',
      '/reads/%zz',
      '//evil.example/reads/1',
    ]) {
      const answer = await hub.ask(path, { headers: bearer(admin) });
      expect([200, 400, 404]).toContain(answer.status);
      expect(answer.text).not.toContain('root:');
    }
    expect((await hub.ask('/healthz')).status).toBe(200);
  });
});

test('every route of the API needs a token, but those that say nothing of jobs [memory]', async () => {
  const { paths } = (await hub.ask('/openapi.json', { headers: bearer(admin) })).json() as {
    paths: Record<string, Record<string, unknown>>;
  };
  const open: string[] = [];
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of Object.keys(methods)) {
      const asked = path.replace(/\{\w+\}/g, 'x');
      const headers = { 'content-type': 'application/json' };
      const { status } = await hub.ask(asked, { method: method.toUpperCase(), headers });
      if (status !== 401) open.push(`${method} ${path}`);
    }
  }
  expect(Object.keys(paths).length).toBeGreaterThan(10);
  expect(open.sort()).toEqual(['get /healthz', 'get /readyz']);
});
