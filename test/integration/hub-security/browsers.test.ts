import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable, openEngine, type TestEngine } from '../../support/engines.js';
import { bearer, type GuardedHub, guardedHub, makeToken } from './guarded-hub.js';

const cookieOf = (header: unknown): string => String(header).split(';')[0] ?? '';

describe('a browser [memory]', () => {
  let engine: TestEngine;
  let hub: GuardedHub;

  beforeAll(async () => {
    engine = await openEngine('memory');
    hub = await guardedHub(engine.storage);
  });

  afterAll(async () => {
    await hub[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  test('gets a cookie for its token, which no script reads and no other site sends, and gives it back', async () => {
    const { token, id } = await makeToken(engine.storage, 'submit');
    const answer = await hub.ask('/login', { body: { token } });
    expect(answer.json()).toEqual({ actor: `the submit (${id})`, role: 'submit' });
    const [header = ''] = answer.headers['set-cookie'] ?? [];
    expect(header).toMatch(/^millrace_session=[^;]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(header).not.toContain(token.slice(16));
    const cookie = cookieOf(header);
    expect((await hub.ask('/submits', { body: { a: 1 }, headers: { cookie } })).json()).toMatchObject({
      by: `the submit (${id})`,
    });
    expect((await hub.ask('/admins', { body: {}, headers: { cookie } })).status).toBe(403);
    const out = await hub.ask('/logout', { method: 'POST', headers: { cookie } });
    expect(out.status).toBe(204);
    expect(String(out.headers['set-cookie'])).toContain('Max-Age=0');
  });

  test('keeps its cookie to https where the page came by it', async () => {
    const { token } = await makeToken(engine.storage, 'read');
    const headers = { origin: 'https://jobs.example', host: 'jobs.example' };
    await using proxied = await guardedHub(engine.storage, {
      settings: { hubAllowedHosts: ['jobs.example'] },
    });
    const answer = await proxied.ask('/login', { body: { token }, headers });
    expect(String(answer.headers['set-cookie'])).toMatch(/; Secure$/);
  });

  test('with a cookie that was changed, cut, or made for something else is nobody', async () => {
    const { token } = await makeToken(engine.storage, 'admin');
    const cookie = cookieOf((await hub.ask('/login', { body: { token } })).headers['set-cookie']);
    const { ticket } = (await hub.ask('/tickets', { method: 'POST', headers: bearer(token) })).json();
    const later = cookie.replace(/\.\d{13}\./, '.9999999999999.');
    for (const forged of [
      later,
      cookie.slice(0, -2),
      `${cookie}x`,
      `millrace_session=${String(ticket)}`,
      `millrace_session=${token}`,
    ]) {
      expect((await hub.ask('/reads/1', { headers: { cookie: forged } })).status).toBe(401);
    }
    expect((await hub.ask('/reads/1', { headers: { cookie } })).status).toBe(200);
  });

  test('is refused with a wrong token, which stands in the audit without its secret, as what went well does', async () => {
    const { token, id } = await makeToken(engine.storage, 'read');
    const wrong = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    expect((await hub.ask('/login', { body: { token: wrong } })).status).toBe(401);
    for (const body of [{}, { token: 5 }, [], 'null', { token: 'x'.repeat(5_000) }]) {
      expect((await hub.ask('/login', { body })).status).toBe(401);
    }
    expect((await hub.ask('/login', { body: { token } })).status).toBe(200);
    const entries = (await engine.storage.audit({ limit: 1000 })).filter(({ target }) => target === id);
    expect(entries.map(({ action, actor, source, result }) => ({ action, actor, source, result }))).toEqual([
      { action: 'login', actor: `the read (${id})`, source: '127.0.0.1', result: 'done' },
      { action: 'login', actor: 'unknown', source: '127.0.0.1', result: 'refused' },
      expect.objectContaining({ action: 'token.create', result: 'done' }),
    ]);
    expect(JSON.stringify(entries)).not.toContain(token.slice(16, 40));
  });
});

for (const name of ['memory', 'sqlite', 'postgres', 'mysql'] satisfies Engine[]) {
  describe.skipIf(!engineAvailable(name))(`a ticket [${name}]`, () => {
    test('opens one socket, once, on whichever hub it is shown', async () => {
      await using engine = await openEngine(name);
      await using one = await guardedHub(engine.storage);
      await using two = await guardedHub((await engine.another?.()) ?? engine.storage);
      const { token } = await makeToken(engine.storage, 'read');
      const ask = async (): Promise<string> => {
        const answer = await one.ask('/tickets', { method: 'POST', headers: bearer(token) });
        expect(answer.status).toBe(201);
        expect(answer.json()).toMatchObject({ expiresInMs: 30_000 });
        return String(answer.json()['ticket']);
      };
      const ticket = await ask();
      const first = two.live(`?ticket=${ticket}`);
      expect(await first.outcome).toBe('in');
      expect(await one.live(`?ticket=${ticket}`).outcome).toBe(401);
      expect(await two.live(`?ticket=${ticket}`).outcome).toBe(401);
      first.socket.terminate();
      const raced = await ask();
      const outcomes = await Promise.all(
        [one, two, one, two].map(({ live }) => live(`?ticket=${raced}`).outcome),
      );
      expect(outcomes.filter((outcome) => outcome === 'in')).toHaveLength(1);
      expect(await one.live('').outcome).toBe(401);
      expect(await one.live('?ticket=nonsense').outcome).toBe(401);
    });
  });
}
