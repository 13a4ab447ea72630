import { describe, expect, test } from 'vitest';
import { hasErrorCode } from '../../src/internal/errors.js';
import { openEngine } from './engines.js';
import { faultyStorage } from './faulty-storage.js';

const isLost = (error: unknown): boolean => hasErrorCode(error, 'connection-lost') && error.retryable;

describe('faulty storage', () => {
  test('a call that fails before changes nothing, one that fails after has been made', async () => {
    await using engine = await openEngine('memory');
    const { storage, fail } = faultyStorage(engine.storage);
    fail('setPaused', ['before', 'after']);
    await expect(storage.setPaused('a', true)).rejects.toSatisfy(isLost);
    expect(await engine.storage.pausedQueues()).toEqual([]);
    await expect(storage.setPaused('b', true)).rejects.toSatisfy(isLost);
    expect(await engine.storage.pausedQueues()).toEqual(['b']);
    await storage.setPaused('c', true);
    expect(await engine.storage.pausedQueues()).toEqual(['b', 'c']);
  });

  test('a plan decides by method and number of the call', async () => {
    await using engine = await openEngine('memory');
    const { storage, calls } = faultyStorage(engine.storage, ({ method, nth }) =>
      method === 'pausedQueues' && nth === 2 ? 'before' : nth === 3 ? { delayMs: 1 } : null,
    );
    expect(await storage.pausedQueues()).toEqual([]);
    await expect(storage.pausedQueues()).rejects.toSatisfy(isLost);
    expect(await storage.pausedQueues()).toEqual([]);
    await storage.stats();
    expect(calls.map(({ method }) => method)).toEqual([
      'pausedQueues',
      'pausedQueues',
      'pausedQueues',
      'stats',
    ]);
  });

  test('a call that hangs does not answer', async () => {
    await using engine = await openEngine('memory');
    const { storage, fail } = faultyStorage(engine.storage);
    fail('now', ['hang']);
    const first = storage.now().then(() => 'answered');
    expect(await Promise.race([first, storage.stats().then(() => 'passed by')])).toBe('passed by');
  });
});
