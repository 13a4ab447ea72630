import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MillraceError } from '../internal/errors.js';
import { silentLogger } from '../internal/logger.js';
import type { JobEnding } from '../storage/job-record.js';
import type { Storage } from '../storage/storage.js';
import { createEvents } from './events.js';
import { ResultWaiter } from './result-waiter.js';
import { StorageAccess } from './storage-access.js';

type Answer = readonly JobEnding[] | Error | 'hang';

/** A waiter over an `endings` whose answers the test decides, on a clock of its own. */
function waiterOver(answer: (ids: readonly string[], call: number) => Answer) {
  const calls: { ids: readonly string[]; atMs: number }[] = [];
  const startedAt = performance.now();
  const endings = (ids: readonly string[]): Promise<readonly JobEnding[]> => {
    calls.push({ ids, atMs: performance.now() - startedAt });
    const given = answer(ids, calls.length);
    if (given === 'hang') return new Promise(() => undefined);
    return given instanceof Error ? Promise.reject(given) : Promise.resolve(given);
  };
  const storage = { open: () => Promise.resolve(), endings } as unknown as Storage;
  const access = new StorageAccess({ create: () => storage, isOwned: false });
  const events = createEvents(silentLogger);
  return { waiter: new ResultWaiter(access, events), events, calls, access };
}

const ending = (id: string, status: JobEnding['status'], more: Partial<JobEnding> = {}): JobEnding => ({
  id,
  status,
  result: null,
  errors: null,
  reason: null,
  ...more,
});

describe('waiting for a result', () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'],
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('answers at once for a job that has ended', async () => {
    const { waiter } = waiterOver((ids) => ids.map((id) => ending(id, 'completed', { result: '{"a":1}' })));
    const result = waiter.wait('a');
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toEqual({ a: 1 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('reads after 5 ms, then less and less often, up to every 250 ms', async () => {
    const { waiter, calls } = waiterOver((ids) => ids.map((id) => ending(id, 'pending')));
    const result = waiter.wait('a', { timeout: 5000 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(8000);
    expect(await result).toMatchObject({
      code: 'result-timeout',
      details: { status: 'pending', timeoutMs: 5000 },
      retryable: true,
    });
    const gaps = calls.map(({ atMs }, index) => Math.round(atMs - (calls[index - 1]?.atMs ?? 0)));
    expect(gaps.slice(0, 4)).toEqual([0, 5, 8, 12]);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(251);
    expect(calls.length).toBeLessThan(40);
    expect(calls.at(-1)?.atMs).toBeGreaterThanOrEqual(5000);
    expect(calls.at(-1)?.atMs).toBeLessThan(5005);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('reads once more when its time is over, so that an ending in the last gap counts', async () => {
    const { waiter } = waiterOver((ids) =>
      ids.map((id) => ending(id, performance.now() >= 999 ? 'completed' : 'processing', { result: '5' })),
    );
    const start = performance.now();
    const result = waiter.wait('a', { timeout: 1000 - start });
    await vi.advanceTimersByTimeAsync(1500);
    expect(await result).toBe(5);
  });

  it('reads for the last time just when its time is over, wherever that falls between two reads', async () => {
    for (let timeout = 2000; timeout < 2250; timeout += 50) {
      const { waiter, calls } = waiterOver((ids) => ids.map((id) => ending(id, 'pending')));
      void waiter.wait('a', { timeout }).catch(() => undefined);
      await vi.advanceTimersByTimeAsync(timeout + 5);
      const [last] = calls.slice(-1);
      expect(last?.atMs).toBeGreaterThanOrEqual(timeout);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it('shares one read between all who wait', async () => {
    let isOver = false;
    const { waiter, calls } = waiterOver((ids) =>
      ids.map((id) => ending(id, isOver ? 'completed' : 'pending')),
    );
    const results = Promise.all(
      Array.from({ length: 1500 }, (_, index) => waiter.wait(`job-${index % 1200}`)),
    );
    await vi.advanceTimersByTimeAsync(1);
    expect(calls.map(({ ids }) => ids.length)).toEqual([1000, 200]);
    isOver = true;
    await vi.advanceTimersByTimeAsync(10);
    expect(await results).toHaveLength(1500);
    expect(calls.length).toBeLessThanOrEqual(6);
  });

  it('reads at once when a worker of this process tells of the ending', async () => {
    let isOver = false;
    const { waiter, events, calls } = waiterOver((ids) =>
      ids.map((id) => ending(id, isOver ? 'completed' : 'pending')),
    );
    const result = waiter.wait('a');
    await vi.advanceTimersByTimeAsync(2000);
    const before = calls.length;
    isOver = true;
    const facts = { id: 'a', name: 'x', queue: 'q', attempt: 1, workerId: 'w', durationMs: 1 };
    events.emit('job:completed', { ...facts, id: 'other' });
    events.emit('job:completed', facts);
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toBeUndefined();
    expect(calls.length).toBe(before + 1);
    expect(events.listenerCount('job:completed')).toBe(0);
  });

  it('does not miss an ending that is told during a read that had not seen it', async () => {
    let answer: (value: readonly JobEnding[]) => void = () => undefined;
    const slow = new Promise<readonly JobEnding[]>((resolve) => {
      answer = resolve;
    });
    const { waiter, events } = waiterOver((ids, call) =>
      call === 1 ? (slow as never) : ids.map((id) => ending(id, 'completed', { result: '1' })),
    );
    const result = waiter.wait('a');
    await vi.advanceTimersByTimeAsync(1);
    events.emit('job:completed', {
      id: 'a',
      name: 'x',
      queue: 'q',
      attempt: 1,
      workerId: 'w',
      durationMs: 1,
    });
    answer([ending('a', 'processing')]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toBe(1);
  });

  it('rejects for a job that was buried, with what is known of it', async () => {
    const failure = {
      at: 1,
      attempt: 3,
      kind: 'failed',
      error: { name: 'TypeError', message: 'no', code: 'E1' },
    };
    const { waiter } = waiterOver(([id]) => [
      ending(id as string, 'buried', { errors: JSON.stringify([failure]), reason: 'attempts-exhausted' }),
    ]);
    const result = waiter.wait('a').catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1);
    const error = await result;
    expect(error).toMatchObject({
      code: 'job-failed',
      details: { id: 'a', reason: 'attempts-exhausted', failures: [{ ...failure, at: new Date(1) }] },
      cause: { name: 'TypeError', message: 'no', code: 'E1' },
    });
    expect(String(error)).toContain('TypeError: no');
  });

  it('rejects for a job that was cancelled, and for one that is gone', async () => {
    const { waiter } = waiterOver((ids) =>
      ids.includes('a') ? [ending('a', 'cancelled', { reason: 'withdrawn' })] : [],
    );
    const both = Promise.allSettled([waiter.wait('a'), waiter.wait('b')]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await both).toMatchObject([
      { reason: { code: 'job-cancelled', message: expect.stringContaining('withdrawn') } },
      { reason: { code: 'job-not-found' } },
    ]);
  });

  it('is given up by its signal, also one that had fired before', async () => {
    const { waiter } = waiterOver((ids) => ids.map((id) => ending(id, 'pending')));
    const abort = new AbortController();
    const result = waiter.wait('a', { signal: abort.signal }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10);
    abort.abort(new Error('enough'));
    expect(await result).toMatchObject({ code: 'aborted', cause: { message: 'enough' } });
    await expect(waiter.wait('a', { signal: abort.signal })).rejects.toMatchObject({ code: 'aborted' });
    await vi.advanceTimersByTimeAsync(10);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('outlives reads that fail in a way that may pass, and tells of them when its time is over', async () => {
    const lost = new MillraceError('connection-lost', 'cut');
    const { waiter } = waiterOver((ids, call) =>
      call < 4 ? lost : ids.map((id) => ending(id, 'completed', { result: '7' })),
    );
    const result = waiter.wait('a');
    const hopeless = waiterOver(() => lost)
      .waiter.wait('a', { timeout: 1000 })
      .catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(3000);
    expect(await result).toBe(7);
    expect(await hopeless).toMatchObject({ code: 'result-timeout', details: { status: null } });
    expect(String(await hopeless)).toContain('cut');
  });

  it('ends with a read that fails for good', async () => {
    const { waiter } = waiterOver(() => new MillraceError('schema-missing', 'run millrace migrate'));
    const result = waiter.wait('a').catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1);
    expect(await result).toMatchObject({ code: 'schema-missing' });
  });

  it('has its deadline also over a read that never answers', async () => {
    const { waiter } = waiterOver(() => 'hang');
    const early = waiter.wait('a', { timeout: 1000 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    const joined = waiter.wait('b', { timeout: 500 }).catch((error: unknown) => error);
    const told: string[] = [];
    void early.then(() => told.push('early'));
    void joined.then(() => told.push('joined'));
    await vi.advanceTimersByTimeAsync(2700);
    expect(told).toEqual(['joined']);
    await vi.advanceTimersByTimeAsync(300);
    expect(told).toEqual(['joined', 'early']);
    expect(await early).toMatchObject({ code: 'result-timeout' });
    expect(await joined).toMatchObject({ code: 'result-timeout' });
  });

  it('may last for ever when asked to, and ends when the client closes', async () => {
    const { waiter, access } = waiterOver((ids) => ids.map((id) => ending(id, 'blocked')));
    const result = waiter.wait('a', { timeout: Number.POSITIVE_INFINITY }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(40 * 60_000);
    waiter.close();
    expect(await result).toMatchObject({ code: 'closed' });
    await access.close();
    await expect(waiter.wait('a')).rejects.toMatchObject({ code: 'closed' });
    await expect(waiter.wait('a', { timeout: 'soon' })).rejects.toMatchObject({ code: 'option-invalid' });
  });
});
