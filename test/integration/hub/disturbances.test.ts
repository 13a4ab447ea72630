import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MillraceError } from '../../../src/internal/errors.js';
import { maxFrameBytes, mostBadMessages } from '../../../src/protocol/link-terms.js';
import type { Storage } from '../../../src/storage/storage.js';
import { openEngine, type TestEngine } from '../../support/engines.js';
import { faultyStorage } from '../../support/faulty-storage.js';
import { addJobs, openHub } from '../../support/hub-stage.js';
import { completed, LinkClient } from '../../support/link-client.js';
import { waitFor } from '../../support/wait-for.js';

const deadlineMs = 25_000;
/** Short, so that what is waited for comes within a test. */
const quick = { MILLRACE_HEARTBEAT: '200ms', MILLRACE_STALE_TIMEOUT: '2s', WORKER_TTL: '4s' };

describe('[memory] a hub through disturbances', () => {
  let engine: TestEngine;
  let storage: Storage;

  beforeEach(async () => {
    engine = await openEngine('memory');
    ({ storage } = engine);
  });
  afterEach(() => engine[Symbol.asyncDispose]());

  const given = (client: LinkClient, count: number): Promise<unknown> =>
    waitFor(() => client.assigned.length >= count, { describe: `${count} assigned jobs`, deadlineMs });
  const statusOf = async (id: string): Promise<string | undefined> => (await storage.job(id))?.status;

  it('tells every worker to go elsewhere when it stops, and is gone within 5 s', async () => {
    const stage = await openHub(storage);
    await using one = await LinkClient.join(stage.url);
    await using silent = await LinkClient.connect(stage.url);
    const startedAtMs = performance.now();
    await stage.hub.stop();
    expect(performance.now() - startedAtMs).toBeLessThan(9_000);
    expect([await one.closing(), await silent.closing()]).toMatchObject([{ code: 1012 }, { code: 1012 }]);
    expect(await storage.hubs()).toEqual([]);
  });

  it('ends also while the database answers nothing', async () => {
    let hangs = false;
    const faulty = faultyStorage(storage, () => (hangs ? 'hang' : null));
    const stage = await openHub(faulty.storage);
    await using client = await LinkClient.join(stage.url);
    hangs = true;
    client.want([client.take(1)]);
    await stage.hub.stop();
    expect(await client.closing()).toMatchObject({ code: 1012 });
  });

  it('takes connections while the database is away, and welcomes once it is back', async () => {
    let isAway = true;
    const open = (): Promise<Storage> =>
      isAway
        ? Promise.reject(new MillraceError('database-unreachable', 'no database in this test'))
        : Promise.resolve(storage);
    await using stage = await openHub(open, { times: { helloMs: 600 } });
    await using client = await LinkClient.connect(stage.url);
    const re = client.send(client.helloMessage());
    expect(await client.answerTo(re)).toMatchObject({ type: 'failed', retryable: true });
    isAway = false;
    await stage.hub.ready();
    await using again = await LinkClient.join(stage.url);
    expect(again.all('welcome')).toHaveLength(1);
  });

  it('tells at once what waiting does not cure', async () => {
    const open = (): Promise<Storage> =>
      Promise.reject(new MillraceError('schema-missing', 'run millrace migrate'));
    await using stage = await openHub(open);
    await expect(stage.hub.ready()).rejects.toMatchObject({ code: 'schema-missing' });
  });

  it('closes a connection without a hello, and one that begins with something else', async () => {
    await using stage = await openHub(storage, { times: { helloMs: 300 } });
    await using mute = await LinkClient.connect(stage.url);
    await using rash = await LinkClient.connect(stage.url);
    await using noisy = await LinkClient.connect(stage.url);
    rash.send({ type: 'ask-queues' });
    noisy.sendRaw('hello?');
    expect([await rash.closing(), await noisy.closing(), await mute.closing()]).toMatchObject([
      { code: 4400 },
      { code: 4400 },
      { code: 4400 },
    ]);
  });

  it('closes a connection on which nothing is heard', async () => {
    await using stage = await openHub(storage, { times: { silenceMs: 800 } });
    await using client = await LinkClient.join(stage.url);
    expect(await client.closing()).toMatchObject({ code: 4408 });
  });

  it('answers what it can’t use with failed, and goes on', async () => {
    await using stage = await openHub(storage);
    await using client = await LinkClient.join(stage.url);
    client.sendRaw('{');
    client.sendRaw(Buffer.from('{"type":"ask-queues","id":90}'));
    client.sendRaw('{"type":"sing","id":91}');
    client.sendRaw('{"type":"beat","id":92}');
    const second = client.send(client.helloMessage());
    await client.answerTo(second);
    expect(client.all('failed').map(({ re, code, retryable }) => [re, code, retryable])).toEqual([
      [null, 'message-invalid', false],
      [null, 'message-invalid', false],
      [91, 'unknown-message', false],
      [92, 'message-invalid', false],
      [second, 'out-of-order', false],
    ]);
    expect((await client.ask('queues', { type: 'ask-queues' })).queues).toEqual([]);
    expect(client.closed).toBeNull();
  });

  it('closes a connection that sends too much that it can’t use, and no other', async () => {
    await using stage = await openHub(storage);
    await using client = await LinkClient.join(stage.url);
    await using other = await LinkClient.join(stage.url);
    for (let sent = 0; sent <= mostBadMessages; sent += 1) client.sendRaw('[]');
    expect(await client.closing()).toMatchObject({ code: 4429 });
    await other.ask('queues', { type: 'ask-queues' });
  });

  it('closes a connection with a message that is too large, and no other', async () => {
    await using stage = await openHub(storage);
    await using client = await LinkClient.join(stage.url);
    await using other = await LinkClient.join(stage.url);
    client.sendRaw('x'.repeat(maxFrameBytes + 1));
    expect(await client.closing()).toMatchObject({ code: 1009 });
    await other.ask('queues', { type: 'ask-queues' });
  });

  it('lets go of a worker that does not read, and gives what it had been sent to others', async () => {
    await using stage = await openHub(storage, { times: { slowMs: 700 } });
    const ids = await addJobs(storage, 60, { payload: JSON.stringify('x'.repeat(500_000)) });
    const slow = await LinkClient.join(stage.url);
    slow.socket.pause();
    slow.want([slow.take(60)]);
    await waitFor(() => stage.hub.metrics.closes.entries.get('4430') === 1, {
      describe: 'the slow worker to be let go',
      deadlineMs,
    });
    slow.cut();
    await using again = await LinkClient.join(stage.url, { id: slow.id, incarnation: slow.incarnation });
    again.want([again.take(60)]);
    await given(again, 60);
    expect(new Set(again.assigned.map(({ id }) => id))).toEqual(new Set(ids));
  });

  it('gives what was claimed when the answer of the database was lost, once', async () => {
    const faulty = faultyStorage(storage);
    await using stage = await openHub(faulty.storage);
    await using client = await LinkClient.join(stage.url);
    const ids = await addJobs(storage, 2);
    faulty.fail('claim', ['after']);
    const re = client.want([client.take(1)]);
    expect(await client.answerTo(re)).toMatchObject({
      type: 'failed',
      code: 'connection-lost',
      retryable: true,
    });
    client.want([client.take(1)]);
    await given(client, 1);
    expect(client.assigned.map(({ id }) => id)).toEqual([ids[0]]);
    expect(await storage.held(client.incarnation)).toHaveLength(1);
  });

  it('pushes what was claimed when the answer of the database was lost', async () => {
    const faulty = faultyStorage(storage);
    await using stage = await openHub(faulty.storage);
    await using client = await LinkClient.join(stage.url);
    client.want([client.take(1)]);
    await client.next('assign');
    faulty.fail('claim', ['after', 'before']);
    const [id] = await addJobs(storage, 1);
    await given(client, 1);
    expect(client.assigned.map((job) => job.id)).toEqual([id]);
  });

  it('settles again what may not have been settled', async () => {
    const faulty = faultyStorage(storage);
    await using stage = await openHub(faulty.storage);
    await addJobs(storage, 1);
    await using client = await LinkClient.join(stage.url);
    client.want([client.take(1)]);
    await given(client, 1);
    faulty.fail('settle', ['after']);
    const results = client.assigned.map(completed);
    const failed = await client.answerTo(client.send({ type: 'settle', settlements: results, want: null }));
    expect(failed).toMatchObject({ type: 'failed', retryable: true });
    expect((await client.settle(results)).outcomes).toEqual(['done']);
  });

  it('puts a lease back that its worker was never told of', async () => {
    await using stage = await openHub(storage);
    await using client = await LinkClient.join(stage.url);
    const [id = ''] = await addJobs(storage, 1);
    // As by a hub that was superseded, and did not know it yet.
    await storage.claim({
      token: `${client.incarnation}f000000100000001`,
      workerId: client.id,
      leaseMs: 45_000,
      takes: [client.take(1)],
      labels: [],
      budgets: { queues: {}, groups: {} },
      alone: false,
    });
    for (let beats = 0; beats < 3; beats += 1) {
      await client.ask('beat-ack', { type: 'beat', status: client.status() });
    }
    await waitFor(async () => (await statusOf(id)) === 'pending', {
      describe: 'the job to be put back',
      deadlineMs,
    });
    expect(stage.hub.metrics.alarms.entries.get('lease-unknown-to-worker')).toBe(1);
  });

  it('keeps the leases of a lost worker for its TTL, then lets them lapse', async () => {
    await using stage = await openHub(storage, { environment: quick });
    const [id = ''] = await addJobs(storage, 1);
    const client = await LinkClient.join(stage.url);
    client.want([client.take(1)]);
    await given(client, 1);
    client.cut();
    await waitFor(() => stage.hub.health.absent === 1, { describe: 'the worker to be missed', deadlineMs });
    const lostAtMs = performance.now();
    await waitFor(async () => stage.hub.health.absent === 0 || !(await isHeld(id)), {
      describe: 'the worker to be let go',
      deadlineMs,
    });
    // Longer than the lease alone would have been.
    expect(performance.now() - lostAtMs).toBeGreaterThan(3_000);
    expect(await isHeld(id)).toBe(true);
    await waitFor(async () => (await statusOf(id)) === 'pending', {
      describe: 'the job to be due again',
      deadlineMs,
    });
  });

  const isHeld = async (id: string): Promise<boolean> => (await statusOf(id)) === 'processing';

  it('takes a lost worker back without losing a lease, twice in a row', async () => {
    await using stage = await openHub(storage, { environment: quick });
    const [id = ''] = await addJobs(storage, 1);
    let client = await LinkClient.join(stage.url);
    client.want([client.take(1)]);
    await given(client, 1);
    const held = client.assigned.map(({ id: job, token }) => ({ id: job, token }));
    for (let cuts = 0; cuts < 2; cuts += 1) {
      client.cut();
      await waitFor(() => stage.hub.health.absent === 1, { describe: 'the worker to be missed', deadlineMs });
      client = await LinkClient.join(stage.url, {
        id: client.id,
        incarnation: client.incarnation,
        hello: { held },
      });
      expect(client.all('welcome')[0]?.held).toMatchObject(held);
      expect(stage.hub.health.absent).toBe(0);
    }
    expect((await client.settle(held.map(completed))).outcomes).toEqual(['done']);
    expect(await statusOf(id)).toBe('completed');
    expect(stage.hub.metrics.reconnects).toBe(2);
    await client[Symbol.asyncDispose]();
  });

  it('hands a worker over to another hub, and ends what is left of it here', async () => {
    await using first = await openHub(storage, { environment: quick });
    await using second = await openHub(storage, { environment: quick });
    await using old = await LinkClient.join(first.url);
    await using young = await LinkClient.join(second.url, { id: old.id, incarnation: old.incarnation });
    old.send({ type: 'beat', status: old.status() });
    expect(await old.closing()).toMatchObject({ code: 4409 });
    await young.ask('beat-ack', { type: 'beat', status: young.status() });
    await waitFor(() => first.hub.health.absent === 0, { describe: 'the first hub to let go', deadlineMs });
    const [record] = await storage.workers();
    expect(record).toMatchObject({ hubId: second.hub.id, disconnectedForMs: null });
  });

  it('keeps a drain that was set before it started', async () => {
    const first = await openHub(storage);
    const client = await LinkClient.join(first.url);
    const audit = {
      id: crypto.randomUUID(),
      actor: 'a',
      source: 'library',
      action: 'worker.drain',
      target: client.id,
    };
    await storage.changeWorker(client.id, { kind: 'admin-state', adminState: 'drain' }, audit);
    await first.hub.stop();
    await using second = await openHub(storage);
    await using again = await LinkClient.join(second.url, { id: client.id, incarnation: client.incarnation });
    expect(again.all('welcome')[0]?.adminState).toBe('drain');
  });

  it('notes a worker as disconnected whose hello failed half-way, should it never come again', async () => {
    const faulty = faultyStorage(storage);
    await using stage = await openHub(faulty.storage, { environment: quick });
    await stage.hub.ready();
    faulty.fail('register', ['after']);
    const client = await LinkClient.connect(stage.url);
    expect(await client.answerTo(client.send(client.helloMessage()))).toMatchObject({ type: 'failed' });
    expect(await storage.workers()).toMatchObject([{ disconnectedForMs: null }]);
    client.cut();
    await waitFor(async () => (await storage.workers())[0]?.disconnectedForMs !== null, {
      describe: 'the worker to be noted as disconnected',
      deadlineMs,
    });
  });

  it('forgets who is silent for long and not connected, and never who is', async () => {
    const environment = { ...quick, WORKER_STALE_REAP_S: '2', WORKER_REAP_INTERVAL_S: '0.3' };
    await using stage = await openHub(storage, { environment, times: { hubBeatMs: 200 } });
    // Neither says a word after its hello.
    await using connected = await LinkClient.join(stage.url);
    const lost = await LinkClient.join(stage.url);
    lost.cut();
    await waitFor(async () => (await storage.workers()).every(({ id }) => id !== lost.id), {
      describe: 'the lost worker to be forgotten',
      deadlineMs,
    });
    expect(stage.logged.join('\n')).toMatch(
      new RegExp(`reaper: forgot stale worker ${lost.id} \\(last heartbeat \\d+ s ago\\)`),
    );
    expect(stage.hub.metrics.reaps).toBe(1);
    const [record] = await storage.workers();
    expect(record?.id).toBe(connected.id);
    expect(record?.silentForMs).toBeGreaterThanOrEqual(2_000);
    expect(connected.closed).toBeNull();
  });

  it('registers a worker anew whose registration was forgotten', async () => {
    await using stage = await openHub(storage);
    await using client = await LinkClient.join(stage.url);
    const [record] = await storage.workers();
    await storage.forgetSilent(client.id, record?.heartbeatAtMs ?? 0);
    expect(await storage.workers()).toEqual([]);
    await client.ask('beat-ack', { type: 'beat', status: client.status() });
    expect(await storage.workers()).toMatchObject([{ id: client.id, incarnation: client.incarnation }]);
  });

  it('shows itself among the hubs, with its workers', async () => {
    await using stage = await openHub(storage, {
      times: { hubBeatMs: 100 },
      advertiseUrl: 'http://hub.example:8000',
    });
    await using client = await LinkClient.join(stage.url);
    await waitFor(async () => (await storage.hubs())[0]?.connections === 1, {
      describe: 'the row of the hub',
      deadlineMs,
    });
    expect(await storage.hubs()).toMatchObject([
      { id: stage.hub.id, advertiseUrl: 'http://hub.example:8000' },
    ]);
    expect(stage.hub.isConnected(client.id)).toBe(true);
  });

  it('refuses another sub-protocol, another path and an impossible id in the handshake', async () => {
    await using stage = await openHub(storage);
    const handshake = async (path: string, protocol: string): Promise<string> => {
      const { default: WebSocket } = await import('ws');
      const socket = new WebSocket(stage.url.replace('http', 'ws') + path, protocol);
      return await new Promise((resolve) => {
        socket.on('error', () => undefined);
        socket.on('open', () => resolve('open'));
        socket.on('unexpected-response', (_request, response) => resolve(String(response.statusCode)));
      });
    };
    expect(await handshake('/workers/w-1/link', 'millrace.v9')).toBe('400');
    expect(await handshake('/elsewhere', 'millrace.v1')).toBe('404');
    expect(await handshake('/workers/a%20b/link', 'millrace.v1')).toBe('400');
    const plain = await fetch(`${stage.url}/workers/w-1/link`);
    expect([plain.status, await plain.text()]).toEqual([426, expect.stringContaining('WebSocket')]);
  });
});
