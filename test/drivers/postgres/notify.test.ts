import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/internal/logger.js';
import { Notifier } from '../../../src/storage/postgres/notify.js';
import { serverAvailable, type TestDatabase, testDatabase } from '../../support/servers.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';
import { withClient } from './fixture.js';

describe.skipIf(!serverAvailable('postgres'))('[postgres] wake-ups', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('postgres');
  });
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]();
  });

  const notifier = (url: string, over: Partial<ConstructorParameters<typeof Notifier>[0]> = {}) => {
    const one = new Notifier({
      url,
      channel: 'millrace',
      logger: silentLogger,
      mayListen: () => true,
      ...over,
    });
    return Object.assign(one, { [Symbol.asyncDispose]: () => one.close() });
  };

  test('many wake-ups become few notifications that name every queue', async () => {
    await using sender = notifier(database.url);
    await withClient(database.url, async (client) => {
      const heard: string[] = [];
      client.on('notification', ({ payload }) => heard.push(payload ?? ''));
      await client.query('listen millrace');
      for (let index = 0; index < 500; index += 1) sender.wake([`q${index}`]);
      const queues = (): Set<string> => new Set(heard.flatMap((payload) => payload.split('\n')));
      await waitFor(() => queues().size === 500, { describe: 'every queue to be named' });
      expect(heard.length).toBeLessThan(5);
    });
  });

  test('a list of queues that no notification can hold wakes for all of them', async () => {
    await using sender = notifier(database.url);
    await using receiver = notifier(database.url);
    const heard: (readonly string[] | null)[] = [];
    await using _watch = await receiver.watch((queues) => heard.push(queues));
    sender.wake(Array.from({ length: 1_000 }, (_, index) => `${'long'.repeat(20)}${index}`));
    await waitFor(() => heard.includes(null), { describe: 'a wake-up without names' });
  });

  test('several that begin to watch at once prove the connection together', async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    await using receiver = notifier(database.url, { logger, answerMs: 2_000 });
    const heard: unknown[] = [];
    const first = await receiver.watch(() => heard.push('first'));
    const watches = await Promise.all([1, 2, 3].map((number) => receiver.watch(() => heard.push(number))));
    expect(warnings).toEqual([]);
    await using sender = notifier(database.url);
    sender.wake(['q']);
    await waitFor(() => heard.length === 4, { describe: 'each of them to hear' });
    for (const watch of [first, ...watches]) await watch[Symbol.asyncDispose]();
  });

  test('quotes in a queue name are only part of the name', async () => {
    await using sender = notifier(database.url);
    await using receiver = notifier(database.url);
    const heard: (readonly string[] | null)[] = [];
    await using _watch = await receiver.watch((queues) => heard.push(queues));
    sender.wake([`a'; select 1 --`, 'b"\\']);
    await waitFor(() => heard.length > 0, { describe: 'a wake-up' });
    expect(heard.flat()).toEqual([`a'; select 1 --`, 'b"\\']);
  });

  test('watchers of the same object hear once, without the way over the server', async () => {
    await using both = notifier(database.url);
    const heard: (readonly string[] | null)[] = [];
    await using _watch = await both.watch((queues) => heard.push(queues));
    both.wake(['here']);
    await Promise.resolve();
    expect(heard).toEqual([['here']]);
    // What comes back from the server afterwards is our own.
    await using other = notifier(database.url);
    other.wake(['elsewhere']);
    await waitFor(() => heard.length > 1, { describe: 'the wake-up of another' });
    expect(heard).toEqual([['here'], ['elsewhere']]);
  });

  test('a listening connection that is dead without saying so is replaced, and watchers look again', async () => {
    await using proxy = await tcpProxy(database.url);
    await using receiver = notifier(proxy.url, { probeEveryMs: 100, answerMs: 300 });
    await using sender = notifier(database.url);
    const heard: (readonly string[] | null)[] = [];
    await using _watch = await receiver.watch((queues) => heard.push(queues));
    proxy.freeze();
    sender.wake(['missed']);
    proxy.thaw();
    await waitFor(() => heard.includes(null), { describe: 'the call to look again' });
    const before = heard.length;
    sender.wake(['again']);
    await waitFor(() => heard.length > before, { describe: 'a wake-up over the new connection' });
    expect(heard.at(-1)).toEqual(['again']);
  });

  test('a connection that ends is replaced', async () => {
    await using proxy = await tcpProxy(database.url);
    await using receiver = notifier(proxy.url);
    await using sender = notifier(database.url);
    const heard: (readonly string[] | null)[] = [];
    await using _watch = await receiver.watch((queues) => heard.push(queues));
    proxy.cut();
    await waitFor(() => heard.includes(null), { describe: 'the call to look again' });
    sender.wake(['again']);
    await waitFor(() => heard.flat().includes('again'), { describe: 'a wake-up over the new connection' });
  });

  test('without a server watching resolves, and waking and closing do nothing', async () => {
    const nowhere = new URL(database.url);
    nowhere.port = '1';
    await using lone = notifier(nowhere.href);
    await using _watch = await lone.watch(() => undefined);
    lone.wake(['a']);
  });
});
