import { beforeEach, describe, expect, it } from 'vitest';
import { hubReport } from '../../test/support/hub-report.js';
import { workerReport } from '../../test/support/worker-report.js';
import { silentLogger } from '../internal/logger.js';
import { MemoryStorage } from '../storage/memory/storage.js';
import { Reaper } from './reaper.js';

const staleMs = 300_000;
const everyMs = 60_000;
const self = 'f'.repeat(16);

describe('the reaper', () => {
  let offsetMs = 0;
  let monotonicMs = 0;
  let storage: MemoryStorage;
  let lines: string[];
  let reaper: Reaper;
  let fails = false;

  const ids = async (): Promise<string[]> => (await storage.workers()).map(({ id }) => id);
  const beat = (id: string, incarnation: string) => storage.heartbeat(workerReport({ id, incarnation }));
  /** So many rounds, with the worker beside it beating. */
  const rounds = async (count: number, others: readonly string[] = []): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      offsetMs += everyMs;
      monotonicMs += everyMs;
      await beat('me', self);
      for (const id of others) await beat(id, id.repeat(16).slice(0, 16));
      await reaper.sweep().catch(() => undefined);
    }
  };

  beforeEach(async () => {
    offsetMs = 0;
    monotonicMs = 0;
    fails = false;
    lines = [];
    storage = new MemoryStorage({ clock: { offsetMs: () => offsetMs } });
    await storage.open();
    const broken = new Proxy(storage, {
      get: (target, key) => {
        if (key === 'workers' && fails) return () => Promise.reject(new Error('away'));
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    reaper = new Reaper({
      ...{ storage: broken, self: { incarnation: self }, staleMs, everyMs, monotonic: () => monotonicMs },
      logger: { ...silentLogger, info: (line: string) => lines.push(line) },
    });
    for (const id of ['a', 'b']) await storage.register(workerReport({ id, incarnation: id.repeat(16) }), 0);
    await storage.register(workerReport({ id: 'me', incarnation: self }), 0);
  });

  it('forgets who has been silent for as long as it has watched, and names them in the log', async () => {
    await rounds(5, ['b']);
    expect(await ids()).toEqual(['a', 'b', 'me']);
    await rounds(1, ['b']);
    expect(await ids()).toEqual(['b', 'me']);
    expect(lines).toEqual(['reaper: forgot stale worker a (last heartbeat 360 s ago)']);
  });

  it('proves nothing by a clock that jumped, nor by what went before it began', async () => {
    offsetMs += 10 * staleMs;
    await rounds(2);
    expect(await ids()).toEqual(['a', 'b', 'me']);
  });

  it('begins anew after a view that failed', async () => {
    await rounds(4);
    fails = true;
    await rounds(1);
    fails = false;
    await rounds(5);
    expect(await ids()).toEqual(['a', 'b', 'me']);
    await rounds(1);
    expect(await ids()).toEqual(['me']);
  });

  it('begins anew after it was frozen', async () => {
    await rounds(4);
    monotonicMs += 10 * everyMs;
    offsetMs += 10 * everyMs;
    await rounds(4);
    expect(await ids()).toEqual(['a', 'b', 'me']);
  });

  it('forgets nobody while its own worker is missing in the view', async () => {
    await storage.changeWorker(
      'me',
      { kind: 'forget', silentForMs: 0 },
      { id: '1', actor: 'a', action: 'b', target: 'me', source: 'c' },
    );
    await rounds(20);
    expect(await ids()).toEqual(['a', 'b']);
    await storage.register(workerReport({ id: 'me', incarnation: self }), 0);
    await rounds(7);
    expect(await ids()).toEqual(['me']);
  });

  it('never forgets whom a hub that is alive has on a socket', async () => {
    const far = workerReport({ id: 'far', incarnation: 'c'.repeat(16), link: 'hub', hubId: 'h' });
    const { epoch } = await storage.register(far, 0);
    const beating = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) {
        await storage.hubBeat(hubReport({ id: 'h' }));
        offsetMs += everyMs - 5_000;
        await storage.hubBeat(hubReport({ id: 'h' }));
        offsetMs -= everyMs - 5_000;
        await rounds(1);
      }
    };
    await beating(10);
    expect(await ids()).toEqual(['far', 'me']);
    await storage.noteDisconnected('far', far.incarnation, epoch);
    await beating(1);
    expect(await ids()).toEqual(['me']);
  });

  it('forgets whom a hub had that is silent itself', async () => {
    await storage.register(
      workerReport({ id: 'far', incarnation: 'c'.repeat(16), link: 'hub', hubId: 'h' }),
      0,
    );
    await storage.hubBeat(hubReport({ id: 'h' }));
    await rounds(6);
    expect(await ids()).toEqual(['me']);
  });

  it('on a hub takes the view for real where its own row is, and no other', async () => {
    const onHub = new Reaper({
      ...{
        storage,
        self: { hubId: 'h' },
        staleMs,
        everyMs,
        monotonic: () => monotonicMs,
        logger: silentLogger,
      },
    });
    const sweeps = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) {
        offsetMs += everyMs;
        monotonicMs += everyMs;
        await onHub.sweep();
      }
    };
    await storage.hubBeat(hubReport({ id: 'other' }));
    await sweeps(10);
    expect(await ids()).toEqual(['a', 'b', 'me']);
    for (let n = 0; n < 7; n += 1) {
      offsetMs += everyMs;
      await storage.hubBeat(hubReport({ id: 'h' }));
      offsetMs -= everyMs;
      await sweeps(1);
    }
    expect(await ids()).toEqual([]);
  });

  it('only watches while another one acts', async () => {
    for (let n = 0; n < 10; n += 1) {
      offsetMs += everyMs;
      monotonicMs += everyMs;
      await beat('me', self);
      await reaper.sweep(false);
    }
    expect(await ids()).toEqual(['a', 'b', 'me']);
    await reaper.sweep();
    expect(await ids()).toEqual(['me']);
  });
});
