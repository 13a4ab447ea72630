import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AccessTokens } from '../../../src/client/access-tokens.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable, openEngine, type TestEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { bearer, type GuardedHub, guardedHub, makeToken } from './guarded-hub.js';

const revokedWithinMs = 20_000;

describe('a hub without tokens [memory]', () => {
  test('is open to its own machine, but not to what a proxy passed on, until the first token is made', async () => {
    await using engine = await openEngine('memory');
    await using hub = await guardedHub(engine.storage);
    const open = await hub.ask('/admins', { body: {} });
    expect(open.json()).toMatchObject({ by: { actor: 'loopback', role: 'admin', address: '127.0.0.1' } });
    for (const header of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']) {
      const headers = { [header]: '127.0.0.1' };
      expect((await hub.ask('/admins', { body: {}, headers })).status).toBe(401);
      expect(await hub.link(null, headers).outcome).toBe(401);
    }
    const worker = hub.link(null);
    expect(await worker.outcome).toBe('in');
    const { id } = await makeToken(engine.storage, 'admin');
    expect(await worker.closed).toBe(4401);
    await waitFor(async () => (await hub.ask('/admins', { body: {} })).status === 401, {
      describe: 'a hub with a token asks for it',
      deadlineMs: revokedWithinMs,
    });
    const tokens = new AccessTokens(() => Promise.resolve(engine.storage));
    expect(await tokens.revoke(id)).toBe('done');
    expect((await hub.ask('/admins', { body: {} })).status).toBe(401);
    expect(await hub.link(null).outcome).toBe(4401);
  });
});

describe('roles [memory]', () => {
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

  test.each([
    ['admin', { read: 200, submit: 200, worker: 200, admin: 200, link: 'in' }],
    ['submit', { read: 200, submit: 200, worker: 403, admin: 403, link: 4401 }],
    ['read', { read: 200, submit: 403, worker: 403, admin: 403, link: 4401 }],
    ['worker', { read: 403, submit: 403, worker: 200, admin: 403, link: 'in' }],
  ] as const)('a token of role %s may what its role says and no more', async (role, may) => {
    const { token, id } = await makeToken(engine.storage, role);
    const headers = bearer(token);
    expect((await hub.ask('/reads/1', { headers })).status).toBe(may.read);
    expect((await hub.ask('/submits', { headers, body: {} })).status).toBe(may.submit);
    expect((await hub.ask('/links', { headers, body: {} })).status).toBe(may.worker);
    const asAdmin = await hub.ask('/admins', { headers, body: {} });
    expect(asAdmin.status).toBe(may.admin);
    expect(asAdmin.json()).toMatchObject(
      may.admin === 200 ? { by: { actor: `the admin (${id})`, role, tokenId: id } } : { code: 'forbidden' },
    );
    const link = hub.link(token);
    expect(await link.outcome).toBe(may.link);
    link.socket.terminate();
  });

  test('a token that is missing, malformed, of a wrong secret, or of nobody is refused, and what is public is not', async () => {
    const { token } = await makeToken(engine.storage, 'admin');
    const wrong = [
      `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`,
      'mr_nobodyhere12_'.concat('0'.repeat(64)),
      token.toUpperCase(),
      'x',
    ];
    const headers = [{}, ...wrong.map(bearer), { authorization: token }, { authorization: `Basic ${token}` }];
    for (const given of headers) {
      const answer = await hub.ask('/reads/1', { headers: given as Record<string, string> });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toContain('Bearer');
      expect(answer.json()).toMatchObject({ code: 'unauthorized' });
    }
    for (const given of [null, ...wrong]) expect(await hub.link(given).outcome).toBe(4401);
    expect((await hub.ask('/healthz')).status).toBe(200);
    expect((await hub.ask('/nowhere')).status).toBe(404);
    expect((await hub.ask('/reads/1', { headers: bearer(token) })).status).toBe(200);
  });

  test('a token that this hub made for what it starts itself holds here and stands in no database', async () => {
    const { sha256Hex } = await import('../../../src/internal/hash.js');
    const secret = 'ab'.repeat(32);
    const own = [{ id: 'ownownownown', secretHash: sha256Hex(secret), role: 'worker', name: 'up' }] as const;
    await using started = await guardedHub(engine.storage, { own });
    const text = `mr_ownownownown_${secret}`;
    const link = started.link(text);
    expect(await link.outcome).toBe('in');
    link.socket.terminate();
    expect(await hub.link(text).outcome).toBe(4401);
  });
});

for (const name of ['memory', 'sqlite', 'postgres', 'mysql'] satisfies Engine[]) {
  describe.skipIf(!engineAvailable(name))(`a token that ends [${name}]`, () => {
    test('by being revoked ends soon on every hub, for requests, cookies, streams and open sockets', async () => {
      await using engine = await openEngine(name);
      await using one = await guardedHub(engine.storage);
      await using two = await guardedHub((await engine.another?.()) ?? engine.storage);
      const kept = await makeToken(engine.storage, 'worker');
      const gone = await makeToken(engine.storage, 'admin');
      const cookie = await loginCookie(one, gone.token);
      const links = [one.link(gone.token), two.link(gone.token), one.link(kept.token)] as const;
      for (const { outcome } of links) expect(await outcome).toBe('in');
      for (const hub of [one, two]) {
        expect((await hub.ask('/admins', { headers: bearer(gone.token), body: {} })).status).toBe(200);
        expect((await hub.ask('/admins', { headers: { cookie }, body: {} })).status).toBe(200);
      }
      const stream = await one.stream('/streams', bearer(gone.token));
      await new AccessTokens(() => Promise.resolve(engine.storage)).revoke(gone.id);
      await stream.ended;
      expect([await links[0].closed, await links[1].closed]).toEqual([4401, 4401]);
      for (const hub of [one, two]) {
        for (const headers of [bearer(gone.token), { cookie }]) {
          await waitFor(async () => (await hub.ask('/admins', { headers, body: {} })).status === 401, {
            describe: 'a revoked token is refused',
            deadlineMs: revokedWithinMs,
          });
        }
      }
      expect(links[2].socket.readyState).toBe(links[2].socket.OPEN);
    });

    test('by its time ends as well', async () => {
      await using engine = await openEngine(name);
      await using hub = await guardedHub(engine.storage);
      const { token } = await makeToken(engine.storage, 'admin', '1h');
      const link = hub.link(token);
      expect(await link.outcome).toBe('in');
      engine.clock.advance(3_600_001);
      expect(await link.closed).toBe(4401);
      await waitFor(async () => (await hub.ask('/reads/1', { headers: bearer(token) })).status === 401, {
        describe: 'an expired token is refused',
        deadlineMs: revokedWithinMs,
      });
    });
  });
}

async function loginCookie(hub: GuardedHub, token: string): Promise<string> {
  const answer = await hub.ask('/login', { body: { token } });
  expect(answer.status).toBe(200);
  return String(answer.headers['set-cookie']).split(';')[0] ?? '';
}
