import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { EventStream } from '../../../src/hub/api/events/event-stream.js';
import { newJobId } from '../../../src/index.js';
import { createLineLogger } from '../../../src/internal/logger.js';
import { statusEvent } from '../../../src/protocol/http/job-answers.js';
import type { Engine } from '../../../src/storage/capabilities.js';
import { engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { type ApiStage, openApi, work } from './api-stage.js';
import { EventReader, type SeenEvent } from './event-reader.js';
import { expectProblem } from './jobs-suite.js';

const statuses = (events: readonly SeenEvent[]): string[] =>
  events.filter(({ event }) => event === 'status').map(({ data }) => data.status);
const texts = (events: readonly SeenEvent[]): string[] =>
  events.filter(({ event }) => event === 'log').map(({ data }) => data.text);

/** A job that writes a line whenever it is told to, and ends when it is told to. */
function told() {
  const wishes: (() => void)[] = [];
  let mayEnd = false;
  const job = defineJob('told', {
    async run({ log, signal }: { log: { info(text: string): void }; signal: AbortSignal; input: unknown }) {
      let line = 0;
      while (!mayEnd && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wishes.push(resolve);
        });
        if (!mayEnd) log.info(`line ${++line}`);
      }
    },
  });
  const next = async (): Promise<void> => {
    (await waitFor(() => wishes.shift(), { describe: 'the handler to wait', deadlineMs: 20_000 }))();
  };
  return {
    job,
    write: next,
    end: async () => {
      mayEnd = true;
      await next();
    },
  };
}

async function dispatch(at: ApiStage, name: string, payload: unknown = null): Promise<string> {
  return (await at.call('POST', '/jobs', { name, payload })).body.id;
}

/** The stream of events of a job, on every engine. */
export function eventsSuite(name: Engine): void {
  describe.skipIf(!engineAvailable(name))(`[${name}] http: events of a job`, () => {
    it('tells what has happened and ends, when the job has ended', async () => {
      await using at = await openApi(name);
      const id = await dispatch(at, 'steps', { count: 5 });
      await work(at.client);
      const reader = new EventReader(`${at.url}/jobs/${id}/events`);
      await reader.done;
      expect(texts(reader.events)).toEqual([1, 2, 3, 4, 5].map((step) => `step ${step}`));
      expect(reader.events.filter(({ event }) => event === 'progress').at(-1)?.data).toMatchObject({
        done: 5,
        total: 5,
      });
      expect(statuses(reader.events)).toEqual(['completed']);
      expect(reader.events.at(-1)?.event).toBe('status');
      expect(statusEvent.parse(reader.events.at(-1)?.data).id).toBe(id);
      const again = new EventReader(`${at.url}/jobs/${id}/events`, { 'last-event-id': reader.lastId });
      await again.done;
      expect([again.status, again.events]).toEqual([204, []]);
    });

    it('tells what happens as it happens', async () => {
      const { job, write, end } = told();
      await using at = await openApi(name, { jobs: [job] });
      const id = await dispatch(at, 'told');
      const reader = new EventReader(`${at.url}/jobs/${id}/events`);
      await reader.until((events) => statuses(events).includes('pending'), 'pending');
      await using worker = at.client.worker();
      await worker.start();
      await reader.until((events) => statuses(events).includes('processing'), 'processing');
      await write();
      await reader.until((events) => texts(events).length === 1, 'the first line');
      await end();
      await reader.done;
      expect(statuses(reader.events)).toEqual(['pending', 'processing', 'completed']);
    });

    it('loses and doubles no line over many cuts, whether by header or by since', async () => {
      const { job, write, end } = told();
      await using at = await openApi(name, { jobs: [job] });
      const id = await dispatch(at, 'told');
      await using worker = at.client.worker();
      await worker.start();
      const seen: SeenEvent[] = [];
      const lines = 12;
      for (let line = 1; line <= lines; line += 1) {
        const last = seen.at(-1)?.id ?? '';
        const byHeader = line % 2 === 0;
        const query = byHeader ? '' : `?since=${encodeURIComponent(last)}`;
        const reader = new EventReader(
          `${at.url}/jobs/${id}/events${query}`,
          byHeader ? { 'last-event-id': last } : {},
        );
        // Some lines are there before the reader is, some come while it listens.
        await write();
        await reader.until((events) => texts(events).includes(`line ${line}`), `line ${line}`);
        await reader.cut();
        seen.push(...reader.events);
      }
      await end();
      const rest = new EventReader(`${at.url}/jobs/${id}/events`, { 'last-event-id': seen.at(-1)?.id ?? '' });
      await rest.done;
      seen.push(...rest.events);
      expect(texts(seen)).toEqual(Array.from({ length: lines }, (_, index) => `line ${index + 1}`));
      expect(new Set(seen.map(({ event, id: place }) => `${event} ${place}`)).size).toBe(seen.length);
      expect(statuses(seen).at(-1)).toBe('completed');
      expect(statuses(seen).filter((status) => status === 'completed')).toHaveLength(1);
    });

    it('goes on with a job that was buried and is retried', async () => {
      await using at = await openApi(name);
      const id = await dispatch(at, 'fail');
      await work(at.client);
      const first = new EventReader(`${at.url}/jobs/${id}/events`);
      await first.done;
      expect(statuses(first.events)).toEqual(['buried']);
      await at.client.retry(id);
      const reader = new EventReader(`${at.url}/jobs/${id}/events`, { 'last-event-id': first.lastId });
      await reader.until((events) => statuses(events).includes('pending'), 'pending again');
      await at.client.delete(id);
      await reader.done;
      expect(reader.events.at(-1)).toMatchObject({ event: 'gone', data: { id } });
      const gone = new EventReader(`${at.url}/jobs/${id}/events`, { 'last-event-id': reader.lastId });
      await gone.done;
      expect(gone.status).toBe(204);
    });
  });
}

/** What does not differ by engine. */
export function streamSuite(name: Engine): void {
  describe.skipIf(!engineAvailable(name))(`[${name}] http: streams of events`, () => {
    it('refuses unknown jobs, wrong ids and wrong places before a stream begins', async () => {
      await using at = await openApi(name);
      expectProblem(await at.call('GET', `/jobs/${newJobId()}/events`), 404, 'job-not-found');
      expectProblem(await at.call('GET', '/jobs/x/events'), 422, 'option-invalid');
      const id = await dispatch(at, 'steps', { count: 1 });
      for (const place of ['x', '~~', 'a b~c', `${'1'.repeat(300)}~`, 'nonsense~pending']) {
        const answer = await at.call('GET', `/jobs/${id}/events`, undefined, { 'last-event-id': place });
        expectProblem(answer, 422, 'cursor-invalid');
      }
    });

    it('beats while nothing happens, and bounds how many are open', async () => {
      const times = { beatMs: 20, slowMs: 30_000, firstPauseMs: 50, longestPauseMs: 50 };
      await using at = await openApi(name, { events: { mostStreams: 2, times } });
      const id = await dispatch(at, 'steps', { count: 1 });
      const readers = [1, 2].map(() => new EventReader(`${at.url}/jobs/${id}/events`));
      for (const reader of readers) await reader.until((events) => events.length === 1, 'the status');
      const refused = await at.call('GET', `/jobs/${id}/events`);
      expectProblem(refused, 503, 'hub-busy');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      await waitFor(() => readers.every(({ comments }) => comments.includes('beat')), {
        describe: 'beats',
        deadlineMs: 20_000,
      });
      await readers[0]?.cut();
      await waitFor(
        async () => {
          const next = new EventReader(`${at.url}/jobs/${id}/events`);
          await Promise.race([next.until((events) => events.length === 1, 'the status'), next.done]);
          await next.cut();
          return next.status === 200;
        },
        { describe: 'a place to be free again', deadlineMs: 20_000, intervalMs: 50 },
      );
      await readers[1]?.cut();
    });

    it('drops a reader who takes nothing, and keeps next to nothing for it', async () => {
      // More than any socket keeps: the log of one job is too small to fill it on one machine.
      let rounds = 0;
      const text = 'x'.repeat(100_000);
      const feed = {
        round: () => {
          rounds += 1;
          const event = {
            id: `${rounds}~`,
            event: 'log',
            data: { cursor: '', at: new Date(), level: 'info', text },
          } as const;
          return Promise.resolve({ events: [event], next: 'more' } as const);
        },
      };
      const lines: string[] = [];
      const logger = createLineLogger({ write: (line) => lines.push(line) });
      const times = { beatMs: 10_000, slowMs: 300, firstPauseMs: 20, longestPauseMs: 20 };
      const server = createServer((_request, response) => {
        void feed.round().then((first) => new EventStream(response, { feed, logger, times }).run(first));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.pause();
      socket.on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      const isDropped = () => lines.some((line) => line.includes('a stream of events was dropped'));
      await waitFor(isDropped, { describe: 'the slow reader to be dropped', deadlineMs: 25_000 });
      // What a socket takes is some megabytes at most.
      expect(rounds).toBeLessThan(1_000);
      socket.destroy();
      server.closeAllConnections();
      await once(server.close(), 'close');
    }, 40_000);

    it('ends all streams when the hub stops', async () => {
      const at = await openApi(name);
      const id = await dispatch(at, 'steps', { count: 1 });
      const reader = new EventReader(`${at.url}/jobs/${id}/events`);
      await reader.until((events) => events.length === 1, 'the status');
      await at.app.close();
      await reader.done;
      expect(reader.events).toHaveLength(1);
      await at[Symbol.asyncDispose]();
    });
  });
}
