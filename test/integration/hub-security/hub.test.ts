import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { AccessTokens } from '../../../src/client/access-tokens.js';
import { Hub } from '../../../src/hub/hub.js';
import { MillraceError } from '../../../src/internal/errors.js';
import { createLineLogger } from '../../../src/internal/logger.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import { linkPath, linkProtocol } from '../../../src/protocol/link-terms.js';
import type { Storage } from '../../../src/storage/storage.js';
import { openEngine, type TestEngine } from '../../support/engines.js';
import { LinkClient } from '../../support/link-client.js';
import { waitFor } from '../../support/wait-for.js';
import { makeToken } from './guarded-hub.js';

const deadlineMs = 20_000;

interface Opened extends AsyncDisposable {
  readonly hub: Hub;
  readonly lines: string[];
}

/** Not started yet. */
function makeHub(storage: Storage | (() => Promise<Storage>), host = '127.0.0.1', perToken = 1_000): Opened {
  const lines: string[] = [];
  const logger = createLineLogger({ write: (line) => lines.push(line), level: 'debug' });
  const settings = { ...resolveSettings({}).values, hubMaxConnections: perToken };
  const hub = new Hub({ storage, settings, logger, host, port: 0 });
  return { hub, lines, [Symbol.asyncDispose]: () => hub.stop() };
}

describe('a hub that is to listen beyond its machine [memory]', () => {
  test('refuses while there is no token, says which command makes one, and listens once there is', async () => {
    await using engine = await openEngine('memory');
    await using opened = makeHub(engine.storage, '0.0.0.0');
    await expect(opened.hub.start()).rejects.toMatchObject({
      code: 'tokens-missing',
      message: expect.stringContaining('millrace token create --role admin') as string,
    });
    await makeToken(engine.storage, 'read');
    await opened.hub.start();
    const outsider = await LinkClient.connect(`http://127.0.0.1:${opened.hub.port}`);
    await outsider[Symbol.asyncDispose]();
  });

  test('listens while the database is away, and lets nobody in', async () => {
    const away = (): Promise<Storage> =>
      Promise.reject(new MillraceError('database-unreachable', 'the database is away'));
    await using opened = makeHub(away, '0.0.0.0');
    await opened.hub.start();
    expect(opened.lines.join('\n')).toContain('nobody is let in until it is');
    await using client = await LinkClient.connect(`http://127.0.0.1:${opened.hub.port}`);
    client.socket.send(JSON.stringify({ id: 1, ...client.helloMessage() }));
    await waitFor(() => client.closed !== null || client.heard.length > 0, {
      describe: 'the hello to be answered',
      deadlineMs,
    });
    expect(client.heard.filter(({ type }) => type === 'welcome')).toEqual([]);
    expect(client.closed?.code).not.toBe(4401);
  });
});

describe('the link of a hub [memory]', () => {
  let engine: TestEngine;
  let opened: Opened;

  beforeAll(async () => {
    engine = await openEngine('memory');
    opened = makeHub(engine.storage);
    await opened.hub.start();
    await opened.hub.ready();
  });

  afterAll(async () => {
    await opened[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const refused = async (token: string | undefined): Promise<number | undefined> => {
    await using client = await LinkClient.connect(opened.hub.url);
    client.socket.send(
      JSON.stringify({ id: 1, ...client.helloMessage(), ...(token === undefined ? {} : { token }) }),
    );
    await waitFor(() => client.closed !== null, { describe: 'the link to be closed', deadlineMs });
    return client.closed?.code;
  };

  test('takes the tokens of workers alone, and ends with them', async () => {
    const worker = await makeToken(engine.storage, 'worker');
    const read = await makeToken(engine.storage, 'read');
    for (const token of [undefined, read.token, 'mr_nonsense', `${worker.token.slice(0, -2)}zz`]) {
      expect(await refused(token)).toBe(4401);
    }
    await using client = await LinkClient.connect(opened.hub.url);
    await client.hello({ token: worker.token });
    await new AccessTokens(() => Promise.resolve(engine.storage)).revoke(worker.id);
    await waitFor(() => client.closed?.code === 4401, { describe: 'the link to end', deadlineMs });
    expect(client.closed?.reason).toContain('revoked');
    expect(opened.lines.join('\n')).not.toContain(worker.token.slice(16, 60));
  });

  test('takes so many connections of one address and no more', async () => {
    await using narrow = makeHub(engine.storage, '127.0.0.1', 2);
    await narrow.hub.start();
    await narrow.hub.ready();
    const { token } = await makeToken(engine.storage, 'worker');
    await using one = await LinkClient.connect(narrow.hub.url);
    await one.hello({ token });
    await using two = await LinkClient.connect(narrow.hub.url);
    await two.hello({ token });
    const answer = await fetch(narrow.hub.url).then(
      ({ status }) => status,
      () => 'reset',
    );
    expect([429, 'reset']).toContain(answer);
  });

  test.each([
    ['a foreign Host', { host: 'evil.example' }, 421],
    ['a foreign page', { origin: 'https://evil.example' }, 403],
  ])('refuses the handshake of %s', async (_what, headers, status) => {
    const address = opened.hub.url.replace('http', 'ws') + linkPath('w-1');
    const socket = new WebSocket(address, linkProtocol, { headers });
    const got = await new Promise((resolve, reject) => {
      socket.once('unexpected-response', (_request, response) => resolve(response.statusCode));
      socket.once('open', () => reject(new Error('it was let in')));
    });
    expect(got).toBe(status);
    socket.on('error', () => undefined).terminate();
  });
});
