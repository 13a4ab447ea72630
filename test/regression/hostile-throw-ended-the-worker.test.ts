import { expect, test } from 'vitest';
import { defineJob } from '../../src/client/define-job.js';
import { Millrace } from '../../src/client/millrace.js';
import { describeFailure } from '../../src/internal/failure.js';

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function trap(): object {
  const fail = (): never => {
    throw new Error('trapped');
  };
  return new Proxy(Object.create(null) as object, {
    get: fail,
    has: fail,
    getPrototypeOf: fail,
    ownKeys: fail,
  });
}

const thrown: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  'a symbol': () => Symbol('s'),
  'a bigint': () => 2n ** 80n,
  'a function': () => () => 1,
  'a revoked proxy': revoked,
  'a proxy whose every trap throws': trap,
  'an error whose parts are a revoked proxy': () => Object.assign(new Error('many'), { errors: revoked() }),
  'an error whose cause is a revoked proxy': () => new Error('deep', { cause: revoked() }),
  'an object without a prototype': () => Object.create(null) as unknown,
};

for (const [what, make] of Object.entries(thrown)) {
  test(`[memory] a handler that throws ${what} costs its own attempt and nothing else`, async () => {
    const hostile = defineJob('hostile', {
      attempts: 1,
      run: () => {
        throw make();
      },
    });
    const rejecting = defineJob('rejecting', {
      attempts: 1,
      run: async () => {
        await Promise.reject(make());
      },
    });
    const well = defineJob('well', { run: () => 'well' });
    await using millrace = new Millrace({ database: 'memory:', jobs: [hostile, rejecting, well] });
    await using worker = millrace.worker({ concurrency: 2 });
    await worker.start();
    for (const job of [hostile, rejecting]) {
      const handle = await millrace.dispatch(job, {});
      await expect(handle.result({ timeout: '5s' })).rejects.toMatchObject({ code: 'job-failed' });
      expect((await handle.job())?.failures).toHaveLength(1);
    }
    const handle = await millrace.dispatch(well, {});
    expect(await handle.result({ timeout: '5s' })).toBe('well');
    expect(worker.running).toBe(0);
  });

  test(`a failure can be described whatever was thrown: ${what}`, () => {
    const { name, message } = describeFailure(make());
    expect([typeof name, typeof message]).toEqual(['string', 'string']);
  });
}

for (const [what, make] of [
  ['a revoked proxy', revoked],
  ['a proxy whose every trap throws', trap],
] as const) {
  test(`[memory] a handler that returns ${what} costs its own attempt and nothing else`, async () => {
    const odd = defineJob('odd', { attempts: 1, run: () => make() });
    const nested = defineJob('nested', { attempts: 1, run: () => ({ inner: make() }) });
    await using millrace = new Millrace({ database: 'memory:', jobs: [odd, nested] });
    await using worker = millrace.worker();
    await worker.start();
    for (const job of [odd, nested]) {
      const handle = await millrace.dispatch(job, {});
      await handle.result({ timeout: '5s' }).catch(() => undefined);
      expect(['completed', 'buried']).toContain((await handle.job())?.status);
    }
    expect(worker.running).toBe(0);
  });
}
