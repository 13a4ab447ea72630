import { describe, expect, test } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { createLineLogger } from '../../../src/internal/logger.js';
import { openEngine } from '../../support/engines.js';
import { openHub } from '../../support/hub-stage.js';
import { tcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

const deadlineMs = 30_000;
const environment = { MILLRACE_WORKER_SLEEP: '200ms', MILLRACE_HEARTBEAT: '500ms' };

/** A worker that reaches its hub by a proxy alone, and whose client could reach no database. */
async function stage(times: { readonly silenceMs?: number } = {}) {
  const engine = await openEngine('sqlite');
  let hub = await openHub(engine.storage, { environment, times });
  const proxy = await tcpProxy(hub.url);
  const runs: number[] = [];
  const gates = new Map<number, () => void>();
  const held = defineJob('held', {
    attempts: 1,
    run: async ({ input }: JobContext<number>) => {
      runs.push(input);
      await new Promise<void>((resolve) => gates.set(input, resolve));
      return input;
    },
  });
  const lines: string[] = [];
  const client = new Millrace({ database: engine.storage, jobs: [held], workerSleep: '200ms' });
  const away = new Millrace({
    ...{ database: 'postgres://nobody@127.0.0.1:9/none', jobs: [held], killGrace: '100ms' },
    ...{ logger: createLineLogger({ write: (line) => lines.push(line) }), heartbeat: '500ms' },
  });
  const worker = away.worker({ hub: proxy.url.replace('http', 'ws').replace(/\/$/, ''), concurrency: 4 });
  await worker.start();
  return {
    ...{ engine, proxy, worker, client, held, runs, lines },
    /** Another hub on the port of the first one. */
    async restartHub() {
      const { port } = hub.hub;
      await hub.hub.stop();
      hub = await openHub(engine.storage, { environment, times, port });
    },
    async begin(input: number) {
      const handle = await client.dispatch(held, input);
      await waitFor(() => gates.has(input), { describe: `job ${input} to run`, deadlineMs });
      return handle;
    },
    acknowledged: (results: number) =>
      waitFor(() => worker.counts.of('completed') === results, {
        describe: `${results} results to be acknowledged`,
        deadlineMs,
      }),
    end: (input: number) => gates.get(input)?.(),
    until: (state: string) =>
      waitFor(() => worker.lifecycle === state, { describe: `the worker to be ${state}`, deadlineMs }),
    async [Symbol.asyncDispose]() {
      for (const open of gates.values()) open();
      await away.close();
      await client.close();
      await proxy[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

describe('a link to a hub that is cut while jobs run', () => {
  for (const how of ['end', 'reset'] as const) {
    test(`by ${how}, twice in a row: each result arrives once, and it is RUNNING again`, async () => {
      await using here = await stage();
      const first = await here.begin(1);
      for (const _ of [1, 2]) {
        const before = here.proxy.accepted;
        here.proxy.cut(how);
        await waitFor(() => here.proxy.accepted > before, { describe: 'the worker to return', deadlineMs });
        await here.until('RUNNING');
      }
      here.end(1);
      expect(await first.result({ timeout: '30s' })).toBe(1);
      const second = await here.begin(2);
      here.end(2);
      expect(await second.result({ timeout: '30s' })).toBe(2);
      expect(here.runs).toEqual([1, 2]);
      await here.acknowledged(2);
      expect(here.worker.counts.of('lease-lost')).toBe(0);
      expect(here.lines.some((line) => line.includes('link: lost ('))).toBe(true);
    }, 90_000);
  }

  test('keeps a result that comes meanwhile, and brings it to a hub that was started anew', async () => {
    await using here = await stage();
    const handle = await here.begin(1);
    await here.restartHub();
    here.end(1);
    expect(await handle.result({ timeout: '30s' })).toBe(1);
    await here.until('RUNNING');
    expect(here.runs).toEqual([1]);
    await here.acknowledged(1);
  }, 90_000);

  for (const direction of [undefined, 'to-server', 'to-client'] as const) {
    test(`silently, ${direction ?? 'both ways'}: it is found out, and the job ends once`, async () => {
      await using here = await stage({ silenceMs: 3_000 });
      const handle = await here.begin(1);
      here.proxy.freeze(direction === undefined ? {} : { direction });
      here.end(1);
      await here.until('RECONNECTING');
      here.proxy.thaw();
      here.proxy.cut('end');
      expect(await handle.result({ timeout: '30s' })).toBe(1);
      await here.until('RUNNING');
      expect(here.runs).toEqual([1]);
    }, 120_000);
  }

  test('ends in its time with the hub down', async () => {
    await using here = await stage();
    await here.begin(1);
    here.proxy.freeze();
    here.proxy.cut();
    await here.until('RECONNECTING');
    const startedAt = performance.now();
    await here.worker.stop({ deadlineMs: 500 });
    expect(here.worker.lifecycle).toBe('EXIT');
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  }, 90_000);
});
