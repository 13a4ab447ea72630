import { describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../internal/logger.js';
import { MemoryStorage } from '../storage/memory/storage.js';
import { defineJob } from './define-job.js';
import { Millrace } from './millrace.js';
import { type MillraceOptions, resolveOptions } from './millrace-options.js';

const resolve = (options: object, env: Record<string, string> = {}) =>
  resolveOptions(options as MillraceOptions, env);

describe('options of a client', () => {
  it('have defaults', () => {
    expect(resolve({})).toMatchObject({
      database: 'sqlite:millrace.db',
      dispatchTimeoutMs: 10_000,
      migrate: 'check',
      settings: { attempts: 3, maxPayloadBytes: 1024 ** 2 },
    });
  });

  it('go before the environment, which goes before the defaults', () => {
    const env = { MILLRACE_DATABASE: 'postgres://h/db', MILLRACE_ATTEMPTS: '7', MILLRACE_KILL_GRACE: '9' };
    expect(resolve({ attempts: 2, database: 'memory:' }, env)).toMatchObject({
      database: 'memory:',
      settings: { attempts: 2, killGraceMs: 9000 },
    });
    expect(resolve({}, env).database).toBe('postgres://h/db');
  });

  it('take a setting in the units of code: numbers of ms, durations, sizes', () => {
    expect(
      resolve({ killGrace: 250, maxExecutionTime: '2m', maxPayload: '64KB', queue: ['a', 'b'] }),
    ).toMatchObject({
      settings: {
        killGraceMs: 250,
        maxExecutionTimeMs: 120_000,
        maxPayloadBytes: 65_536,
        queue: { order: 'strict', queues: ['a', 'b'] },
      },
    });
  });

  it.each([
    [{ databse: 'memory:' }, 'option-unknown', 'Did you mean "database"'],
    [{ lanes: 4, tags: [] }, 'option-unknown', 'tags'],
    [{ database: 5 }, 'option-invalid', 'database'],
    [{ database: 'redis://h' }, 'database-url-invalid', 'sqlite:<file>'],
    [{ attempts: 'five', killGrace: -1 }, 'settings-invalid', '2 problems'],
    [
      { concurrency: 1001 },
      'settings-invalid',
      'option "concurrency": expected a whole number from 1 to 1000',
    ],
    [{ staleTimeout: '5s' }, 'settings-invalid', 'three heartbeats'],
    [{ dispatchTimeout: 'soon' }, 'option-invalid', 'dispatchTimeout'],
    [{ migrate: true }, 'option-invalid', 'migrate'],
    [{ jobs: {} }, 'option-invalid', 'jobs'],
    [{ database: new MemoryStorage(), clock: { offsetMs: () => 0 } }, 'option-invalid', 'clock'],
  ] as const)('refuse %o', (options, code, words) => {
    expect(() => resolve(options)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(words) }),
    );
  });

  it('are told with everything that is wrong at once', () => {
    const options = {
      databse: 'x',
      concurrency: 0,
      heartbeat: '1h',
      migrate: 'yes',
      dispatchTimeout: 'soon',
    };
    expect(() => resolve(options)).toThrow(
      expect.objectContaining({
        code: 'option-invalid',
        details: {
          problems: [
            'there is no option "databse". Did you mean "database"?',
            'option "concurrency": expected a whole number from 1 to 1000, got 0',
            expect.stringContaining('MILLRACE_HEARTBEAT is 1h'),
            expect.stringMatching(/^option "migrate"/),
            expect.stringMatching(/^option "dispatchTimeout"/),
          ],
        },
      }),
    );
  });

  it('warn of variables that nothing reads', () => {
    const warn = vi.fn();
    resolve({ logger: { ...silentLogger, warn } }, { MILLRACE_ATEMPTS: '5' });
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('MILLRACE_ATTEMPTS'));
  });
});

describe('the jobs of a client', () => {
  it('must be definitions, each of another name', () => {
    const job = defineJob('a', {});
    const over = (jobs: readonly unknown[]) => () =>
      new Millrace({ database: 'memory:', jobs: jobs as never });
    expect(over([job, defineJob('a', {})])).toThrow(expect.objectContaining({ code: 'job-name-duplicate' }));
    expect(over([{ name: 'a' }])).toThrow(expect.objectContaining({ code: 'option-invalid' }));
    expect(over([job, defineJob('b', {})])).not.toThrow();
  });

  it('reach workers with what they left to the settings, and without those that have no code here', () => {
    const jobs = [defineJob('a', { run: () => 1 }), defineJob('b', {})];
    const { internals } = new Millrace({
      database: 'memory:',
      jobs,
      retryBackoff: 'fixed',
      maxExecutionTime: '1m',
    });
    expect([...internals.definitions.keys()]).toEqual(['a']);
    expect(internals.definitions.get('a')).toMatchObject({
      queue: 'default',
      maxAttempts: 3,
      backoff: { type: 'fixed' },
      timeoutMs: 60_000,
    });
  });

  it('keep their `this`', () => {
    const job = defineJob('a', {
      queue: 'q',
      run() {
        return (this as { queue?: string }).queue;
      },
    });
    const { internals } = new Millrace({ database: 'memory:', jobs: [job] });
    expect(internals.definitions.get('a')?.run({} as never)).toBe('q');
  });
});

it('a client starts nothing by being made', () => {
  const listeners = process.listenerCount('SIGTERM');
  vi.useFakeTimers();
  new Millrace({ database: 'sqlite:/nowhere/at/all.db', jobs: [] });
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
  expect(process.listenerCount('SIGTERM')).toBe(listeners);
});
