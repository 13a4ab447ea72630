import { describe, expect, test } from 'vitest';
import { type BrowserJobContext, defineJob, Millrace } from '../../../src/index.js';
import { silentLogger as logger } from '../../../src/internal/logger.js';
import { resolveSettings } from '../../../src/internal/settings.js';
import { openEngine } from '../../support/engines.js';
import { openHubEngine } from '../../support/hub-engines.js';
import { waitFor } from '../../support/wait-for.js';

/** Heartbeats that a test can wait for; through the hub they are the hub’s. */
const { values: settings } = resolveSettings({ config: { heartbeat: '1s', staleTimeout: '3s' } });

describe.each([
  { link: 'storage', open: openEngine, soon: { settings } },
  { link: 'hub', open: openHubEngine, soon: {} },
])('[sqlite] over a $link link, a Chrome that is killed under its job', ({ link, open, soon }) => {
  test('costs that attempt uncharged, is told by step, and the other lane goes on', {
    timeout: 90_000,
  }, async () => {
    await using engine = await open('sqlite');
    const begun: number[] = [];
    let mayEnd = false;
    const fragile = defineJob('fragile', {
      lane: 'browser',
      backoff: { type: 'fixed', base: '10ms' },
      async run({ tab, attempt }: BrowserJobContext<Record<string, never>>) {
        begun.push(attempt);
        if (begun.length > 1) return await tab.evaluate<number>('6 * 7');
        return await tab.evaluate<number>('new Promise(() => {})', { timeout: '60s' });
      },
    });
    const beside = defineJob('beside', {
      lane: 'browser',
      async run({ tab }: BrowserJobContext<Record<string, never>>) {
        await waitFor(() => mayEnd, { describe: 'the test to let it end', deadlineMs: 60_000 });
        return await tab.evaluate<number>('2 * 3');
      },
    });
    await using millrace = new Millrace({
      database: engine.storage,
      jobs: [fragile, beside],
      logger,
      ...soon,
    });
    const steps: unknown[] = [];
    millrace.on('lane:step', (step) => steps.push(step));
    const worker = millrace.worker({ browserLanes: 2 });
    await worker.start();
    const other = await millrace.dispatch(beside, {});
    const handle = await millrace.dispatch(fragile, {});
    const lane = await waitFor(
      async () => {
        const [registered] = await millrace.workers();
        expect(registered?.link).toBe(link);
        const lanes = registered?.lanes.filter(({ kind }) => kind === 'browser') ?? [];
        const all = lanes.every(({ state }) => state === 'busy');
        return all ? lanes.find(({ jobs }) => jobs.some(({ name }) => name === 'fragile')) : null;
      },
      { describe: 'both lanes to be busy', deadlineMs: 30_000, intervalMs: 50 },
    );
    process.kill(lane.pid ?? 0, 'SIGKILL');
    expect(await handle.result({ timeout: '40s' })).toBe(42);
    // Uncharged: the second run was the first attempt as well.
    expect(begun).toEqual([1, 1]);
    expect(await handle.job()).toMatchObject({ status: 'completed', attempts: 0, deaths: 1 });
    expect(steps).toMatchObject([
      { workerId: worker.id, kind: 'browser', lane: lane.number, step: 'restart', helped: true },
    ]);
    mayEnd = true;
    expect(await other.result({ timeout: '20s' })).toBe(6);
    expect(await other.job()).toMatchObject({ attempts: 0, deaths: 0 });
    await worker.stop();
  });
});
