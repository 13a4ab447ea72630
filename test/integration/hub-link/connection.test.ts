import { describe, expect, test } from 'vitest';
import type { WorkerMessage } from '../../../src/protocol/worker-messages.js';
import type { ClaimedJob, Lease } from '../../../src/storage/claimed-job.js';
import { HubClient, type HubClientListener } from '../../../src/worker/link/hub/hub-client.js';
import type { HubLoss, HubOpening } from '../../../src/worker/link/hub/hub-link-messages.js';
import { LocalHubPort } from '../../../src/worker/link/hub/hub-port.js';
import { HubStorage } from '../../../src/worker/link/hub/hub-storage.js';
import { protocolServer, type ServedConnection } from '../../support/protocol-server.js';
import { waitFor } from '../../support/wait-for.js';

const incarnation = '00112233445566aa';
const token = `${incarnation}f000000100000001`;
const ids = Array.from({ length: 9 }, (_, n) => `0190a0b0-0000-7000-8000-00000000000${n}`);

function job(id: string | undefined): ClaimedJob {
  return {
    ...{ id: id ?? '', token, name: 'n', queue: 'default', payload: 'null', version: 1, priority: 0 },
    ...{ attempts: 0, maxAttempts: 3, deaths: 0, lapses: 0, started: true, errors: null },
    ...{ createdAtMs: 0, dueAtMs: 0, limit: null, cost: 1, requires: [] },
  };
}

/** The worker's end, on the loop of the test. */
function connect(urls: readonly string[], { heartbeatMs = 15_000, held = [] as readonly Lease[] } = {}) {
  const seen = {
    openings: [] as HubOpening[],
    losses: [] as HubLoss[],
    given: [] as { jobs: readonly ClaimedJob[]; askedAtMs: number }[],
    snapshots: 0,
    superseded: 0,
    lines: [] as string[],
  };
  const listener: HubClientListener = {
    onOpen: (opening) => seen.openings.push(opening),
    onLost: (loss) => seen.losses.push(loss),
    onSuperseded: () => {
      seen.superseded += 1;
    },
    onAssigned: (jobs, askedAtMs) => seen.given.push({ jobs, askedAtMs }),
    onSnapshot: () => {
      seen.snapshots += 1;
    },
    onOrders: () => undefined,
    onStopAsked: () => undefined,
    onLone: () => undefined,
    onClockSkew: () => undefined,
    onLog: (_, message) => seen.lines.push(message),
    held: () => held,
  };
  const facts = {
    ...{ incarnation, ended: null, host: 'host', pid: 1, version: '1', queues: ['default'] },
    ...{ handlers: [{ name: 'n', lane: 'inline' as const }], labels: [], concurrency: 10, restarts: 0 },
  };
  const client = new HubClient(
    new LocalHubPort({ urls, token: 'mr_1_secret', workerId: 'w-1', facts, heartbeatMs }),
  );
  client.start(listener);
  const storage = new HubStorage(client, { listen: () => undefined });
  return { client, storage, seen, [Symbol.asyncDispose]: () => client.stop(500) };
}

const opened = (end: ReturnType<typeof connect>, times = 1) =>
  waitFor(() => end.seen.openings.length >= times, { describe: 'a welcome', deadlineMs: 30_000 });

const request = (limit = 1) => ({
  ...{ token: incarnation + '1'.padStart(16, '0'), workerId: 'w-1', leaseMs: 45_000, labels: [] },
  ...{ budgets: { queues: {}, groups: {} }, alone: false },
  takes: [{ queues: ['default'], names: ['n'], limit, start: limit }],
});

const settlement = (id: string | undefined) =>
  ({ id: id ?? '', token, kind: 'completed', result: '1' }) as const;

/** Does all that is asked: every result is new, every want gets one job. */
function obliging(message: WorkerMessage, connection: ServedConnection, _nth: number): void {
  if (message.type === 'goodbye') connection.send({ type: 'goodbye-ack', re: message.id });
  if (message.type === 'beat')
    connection.send({
      ...{ type: 'beat-ack', re: message.id, held: [], adminState: 'active', recycleAsked: false },
      ...{ paused: [], nowMs: Date.now() },
    });
  if (message.type !== 'settle') return;
  connection.send({ type: 'settled', re: message.id, outcomes: message.settlements.map(() => 'done') });
  if (message.want !== null)
    connection.send({ type: 'assign', assign: 1, re: message.id, beat: 1, jobs: [job(ids[0])] });
}

describe('the connection of a worker to its hub', () => {
  test('says hello with its token and all it holds, and beats at once', async () => {
    await using server = await protocolServer(obliging);
    await using end = connect([server.url], { held: [{ id: ids[0] ?? '', token }] });
    await opened(end);
    const hello = server.connections[0]?.received[0];
    expect(hello).toMatchObject({
      type: 'hello',
      token: 'mr_1_secret',
      incarnation,
      held: [{ id: ids[0], token }],
    });
    expect(end.seen.openings[0]?.held).toEqual([{ id: ids[0], token, stopRequest: null }]);
    await waitFor(() => end.seen.snapshots > 0, { describe: 'the first heartbeat to be answered' });
  });

  test('sends results with a want, and gets outcomes and jobs', async () => {
    await using server = await protocolServer(obliging);
    await using end = connect([server.url]);
    await opened(end);
    const { settled, claimed } = await end.storage.exchange([settlement(ids[1])], request());
    expect(settled).toEqual(['done']);
    expect(claimed.map(({ id }) => id)).toEqual([ids[0]]);
    expect(end.client.mark).toEqual({ connection: 1, after: 1 });
  });

  test('gives jobs that are answered late, twice, or were not asked for to the one door', async () => {
    await using server = await protocolServer();
    await using end = connect([server.url]);
    await opened(end);
    const [connection] = server.connections;
    for (const [index, re] of [null, 77, 77].entries())
      connection?.send({ type: 'assign', assign: index + 1, re, beat: 1, jobs: [job(ids[index])] });
    connection?.send({ type: 'settled', re: 99, outcomes: ['done'] });
    await waitFor(() => end.seen.given.length === 3, { describe: 'three assigns' });
    const [{ askedAtMs } = { askedAtMs: 0 }] = end.seen.given;
    expect(askedAtMs).toBe(end.seen.openings[0]?.askedAtMs);
  });

  test('refuses what is open when the connection ends, and keeps results that were acknowledged before', async () => {
    await using server = await protocolServer((message, connection, nth) => {
      if (nth > 1 || message.type !== 'settle') return;
      if (message.settlements.length > 0)
        connection.send({ type: 'settled', re: message.id, outcomes: ['done'] });
      if (message.settlements[0]?.id === ids[1]) setImmediate(() => connection.socket.terminate());
    });
    await using end = connect([server.url]);
    await opened(end);
    const lost = end.storage.claim(request()).catch((error: unknown) => error);
    const kept = end.storage.exchange([settlement(ids[1])], request());
    expect(await kept).toEqual({ settled: ['done'], claimed: [] });
    expect(await lost).toMatchObject({ code: 'hub-unreachable', retryable: true });
    await opened(end, 2);
    expect(end.seen.losses).toHaveLength(1);
  });

  test('passes over what it can’t read, and goes on', async () => {
    await using server = await protocolServer(obliging);
    await using end = connect([server.url]);
    await opened(end);
    for (const text of ['{', '[]', '{"type":"news"}', '{"type":"assign"}', 'null'])
      server.connections[0]?.socket.send(text);
    server.connections[0]?.socket.send(Buffer.from([1, 2, 3]));
    expect(await end.storage.settle([settlement(ids[1])])).toEqual(['done']);
    expect(end.seen.lines.filter((line) => line.includes('could not be read'))).toHaveLength(6);
    expect(server.connections).toHaveLength(1);
  });

  test('tries the hubs of its list in turn', async () => {
    await using server = await protocolServer(obliging);
    await using end = connect(['ws://127.0.0.1:9', server.url]);
    await opened(end);
    server.connections[0]?.socket.close(1012);
    await opened(end, 2);
    expect(end.seen.losses.some(({ text }) => text.includes('the hub goes down'))).toBe(true);
  });

  test('says what cures a refused token, and comes back all the same', async () => {
    await using server = await protocolServer((message, connection) => {
      if (message.type === 'beat') connection.socket.close(4401, 'unknown token');
    });
    await using end = connect([server.url]);
    const loss = await waitFor(() => end.seen.losses[0], { describe: 'the loss' });
    expect(loss.text).toContain('unknown token');
    expect(loss.fix).toContain('WORKER_SECRET');
    expect(loss.waitMs).toBeGreaterThan(10_000);
  });

  test('takes a hub that is silent for lost, and one that leaves heartbeats unanswered', async () => {
    await using server = await protocolServer(undefined, { silenceMs: 300, heartbeatMs: 50 });
    await using end = connect([server.url], { heartbeatMs: 50 });
    const loss = await waitFor(() => end.seen.losses[0], { describe: 'the loss', deadlineMs: 20_000 });
    expect(loss.text).toContain('nothing was heard');
  });

  test('does not come back once a newer connection of it stands', async () => {
    await using server = await protocolServer(obliging);
    await using end = connect([server.url]);
    await opened(end);
    server.connections[0]?.socket.close(4409);
    await waitFor(() => end.seen.superseded === 1, { describe: 'to be superseded' });
    await expect(end.storage.settle([settlement(ids[1])])).rejects.toMatchObject({ code: 'hub-unreachable' });
  });

  test('splits results that are too large for one message, and keeps their order', async () => {
    await using server = await protocolServer(obliging);
    await using end = connect([server.url]);
    await opened(end);
    const large = { ...settlement(ids[1]), result: JSON.stringify('x'.repeat(900_000)) };
    const { settled } = await end.storage.exchange([large, large, large, settlement(ids[2])], request());
    expect(settled).toEqual(['done', 'done', 'done', 'done']);
    const sent = server.connections[0]?.received.filter(({ type }) => type === 'settle') ?? [];
    expect(sent).toHaveLength(2);
    expect(sent.map((message) => message.type === 'settle' && message.want !== null)).toEqual([false, true]);
  });

  test('has no transactions and says so at once', async () => {
    await using server = await protocolServer(obliging);
    await using end = connect([server.url]);
    expect(() => end.storage.within()).toThrow(expect.objectContaining({ code: 'needs-database' }));
    expect(() => end.storage.withinSync()).toThrow(expect.objectContaining({ code: 'needs-database' }));
  });
});
