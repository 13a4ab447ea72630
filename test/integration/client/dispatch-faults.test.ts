import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { MillraceError } from '../../../src/internal/errors.js';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { MemoryStorage } from '../../../src/storage/memory/storage.js';
import type { NewJob } from '../../../src/storage/new-job.js';
import { faultyStorage } from '../../support/faulty-storage.js';
import { waitFor } from '../../support/wait-for.js';

const note = defineJob('note', {});

function clientOf(options: { dispatchTimeout?: string } = {}) {
  const faulty = faultyStorage(new MemoryStorage());
  const millrace = new Millrace({ database: faulty.storage, ...options });
  const batches = (): number[] =>
    faulty.calls
      .filter(({ method }) => method === 'enqueue')
      .map(({ args: [jobs] }) => (jobs as NewJob[]).length);
  const total = async (): Promise<number> => (await millrace.stats('default')).pending;
  return { ...faulty, millrace, batches, total };
}

const brokenRow = (): Error => new MillraceError('query-failed', 'a row was refused');

describe('a dispatch on a storage that fails', () => {
  for (const fault of ['before', 'after'] as const) {
    it(`is repeated with the same id until it is there once (fault ${fault} the write)`, async () => {
      const { millrace, fail, batches, total } = clientOf();
      await using _ = millrace;
      fail('enqueue', [fault, fault, fault]);
      const handle = await millrace.dispatch(note, { n: 1 });
      expect(handle.deduplicated).toBe(false);
      expect(batches()).toEqual([1, 1, 1, 1]);
      expect(await total()).toBe(1);
      expect(await handle.job()).toMatchObject({ id: handle.id, input: { n: 1 } });
    });

    it(`keeps every one of many in flight (fault ${fault} the write)`, async () => {
      const { millrace, fail, total } = clientOf();
      await using _ = millrace;
      fail('enqueue', [fault, fault, fault, fault, fault]);
      const handles = await Promise.all(
        Array.from({ length: 100 }, (_, n) => millrace.dispatch(note, { n })),
      );
      expect(new Set(handles.map(({ id }) => id)).size).toBe(100);
      expect(handles.some(({ deduplicated }) => deduplicated)).toBe(false);
      expect(await total()).toBe(100);
    });

    it(`keeps every one of a bulk (fault ${fault} the write)`, async () => {
      const { millrace, fail, total } = clientOf();
      await using _ = millrace;
      fail('enqueue', [fault, fault]);
      const handles = await millrace.dispatchMany(
        Array.from({ length: 2500 }, (_, n) => ({ job: 'note', input: { n } })),
      );
      expect(handles.some(({ deduplicated }) => deduplicated)).toBe(false);
      expect(await total()).toBe(2500);
    });
  }

  it('of an id of its own is not taken for a repeat when it was this very call that had written it', async () => {
    const { millrace, fail } = clientOf();
    await using _ = millrace;
    fail('enqueue', ['after', 'after']);
    const id = uuidv7();
    expect(await millrace.dispatch(note, 1, { id })).toMatchObject({ id, deduplicated: false });
    fail('enqueue', ['after']);
    const [handle] = await millrace.dispatchMany([{ job: 'note', options: { id: uuidv7() } }]);
    expect(handle.deduplicated).toBe(false);
    expect(await millrace.dispatch(note, 1, { id })).toMatchObject({ id, deduplicated: true });
  });

  it('gives up at its deadline, says with which id it may have been written, and a repeat finds it', async () => {
    const { millrace, fail, total } = clientOf({ dispatchTimeout: '150ms' });
    await using _ = millrace;
    fail('enqueue', ['after', ...new Array<'before'>(1000).fill('before')]);
    const id = uuidv7();
    const failed = await millrace.dispatch(note, {}, { id }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'deadline-exceeded', retryable: true, details: { id } });
    expect(String(failed)).toContain('the connection was cut by a test');
    expect(await total()).toBe(1);
  });

  it('gives up at its deadline when the storage hangs, and so do those behind it', async () => {
    const { millrace, fail } = clientOf({ dispatchTimeout: '100ms' });
    fail('enqueue', ['hang']);
    const outcomes = await Promise.allSettled([1, 2, 3].map((n) => millrace.dispatch(note, { n })));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(outcomes[2]).toMatchObject({ reason: { code: 'deadline-exceeded' } });
  });

  it('is not repeated where repeating is no use', async () => {
    const { millrace, fail, batches } = clientOf();
    await using _ = millrace;
    fail('enqueue', ['before'], brokenRow);
    await expect(millrace.dispatch(note, {})).rejects.toMatchObject({ code: 'query-failed' });
    expect(batches()).toEqual([1]);
  });

  it('fails alone when it shared its statement with others', async () => {
    const { millrace, fail, batches, total } = clientOf();
    await using _ = millrace;
    // The first goes alone; the shared statement fails for good; of its jobs the second one is the bad one.
    fail('enqueue', ['before'], () => new MillraceError('connection-lost', 'once'));
    fail('enqueue', ['before'], brokenRow);
    await millrace.open();
    const sent = Promise.allSettled([1, 2, 3, 4].map((n) => millrace.dispatch(note, { n })));
    await waitFor(() => batches().length >= 2, { describe: 'the shared statement' });
    const outcomes = await sent;
    expect(outcomes.map(({ status }) => status)).toEqual(new Array(4).fill('fulfilled'));
    expect(batches()).toEqual([1, 4, 1, 1, 1, 1]);
    expect(await total()).toBe(4);
  });

  it('tells all of a batch at once when the storage does not open, and opens on the next', async () => {
    const { millrace, fail, calls } = clientOf();
    await using _ = millrace;
    fail('open', ['before'], () => new MillraceError('schema-missing', 'run millrace migrate'));
    const first = await Promise.allSettled([millrace.dispatch(note, 1), millrace.dispatch(note, 2)]);
    expect(first[0]).toMatchObject({ status: 'rejected', reason: { code: 'schema-missing' } });
    await millrace.dispatch(note, 3);
    expect(calls.filter(({ method }) => method === 'open').length).toBeGreaterThanOrEqual(2);
  });

  it('is patient with a database that is away when it is first used', async () => {
    const { millrace, fail, total } = clientOf();
    await using _ = millrace;
    fail('open', ['before', 'before'], () => new MillraceError('database-unreachable', 'refused'));
    await millrace.dispatch(note, 1);
    expect(await total()).toBe(1);
  });
});

describe('concurrent dispatches', () => {
  it('share statements, while a lone one goes at once', async () => {
    const { millrace, batches } = clientOf();
    await using _ = millrace;
    await millrace.open();
    await millrace.dispatch(note, 0);
    expect(batches()).toEqual([1]);
    await Promise.all(Array.from({ length: 2500 }, (_, n) => millrace.dispatch(note, n)));
    expect(batches().length).toBeLessThanOrEqual(5);
    expect(Math.max(...batches())).toBe(1000);
  });

  it('keep the order of one producer', async () => {
    const { millrace } = clientOf();
    await using _ = millrace;
    const handles = await Promise.all(Array.from({ length: 50 }, (_, n) => millrace.dispatch(note, n)));
    const ids = handles.map(({ id }) => id);
    expect([...ids].sort()).toEqual(ids);
  });

  it('in a row leave the event loop its turns', async () => {
    const { millrace } = clientOf();
    await using _ = millrace;
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const until = performance.now() + 200;
    while (performance.now() < until) await millrace.dispatch(note, 0);
    clearInterval(timer);
    expect(turns).toBeGreaterThanOrEqual(5);
  });
});

describe('closing a client', () => {
  it('lets dispatches on their way arrive and refuses later ones', async () => {
    const { millrace, calls } = clientOf();
    const sent = [1, 2, 3].map((n) => millrace.dispatch(note, n));
    const closing = millrace.close();
    await expect(millrace.dispatch(note, 4)).rejects.toMatchObject({ code: 'closed' });
    await Promise.all(sent);
    await closing;
    await millrace.close();
    // A storage of the user's own stays open.
    expect(calls.some(({ method }) => method === 'close')).toBe(false);
  });

  it('that was never used does nothing', async () => {
    const { millrace, calls } = clientOf();
    await millrace.close();
    expect(calls).toEqual([]);
    await expect(millrace.stats()).rejects.toMatchObject({ code: 'closed' });
  });
});
