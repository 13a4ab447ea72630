import { describe, expect, it } from 'vitest';
import { defineJob } from '../../client/define-job.js';
import { runnableOf } from '../../client/job-template.js';
import { resolveSettings } from '../../internal/settings.js';
import { planLanes } from './plan-lanes.js';

const { values } = resolveSettings({});
const settings = { lanes: values, values } as unknown as Parameters<typeof planLanes>[0]['settings'];
const options = { concurrency: 10, module: null, processLanes: 'auto', browserLanes: 0 } as const;

const jobs = (lanes: Readonly<Record<string, 'inline' | 'process'>>) =>
  new Map(
    Object.entries(lanes).map(([name, lane]) => {
      const job = runnableOf(defineJob(name, { lane, run: () => 1 }), values);
      if (job === null) throw new Error('it has code');
      return [name, job];
    }),
  );

describe('the lanes of a worker', () => {
  it('need no module where no job asks for a process', () => {
    const definitions = jobs({ light: 'inline' });
    const plan = planLanes({ definitions, settings, database: null }, { ...options, processLanes: 4 });
    expect(plan).toMatchObject({ sizes: { process: 0, inline: 10 }, sources: [], skipped: [] });
  });

  it('refuse a start without the module that their children load, and say what to pass', () => {
    const definitions = jobs({ a: 'process', b: 'process', c: 'process', d: 'process', e: 'inline' });
    expect(() => planLanes({ definitions, settings, database: null }, options)).toThrow(
      /\(a, b, c and 1 more\).*expected option "module", got none\. Pass it: worker\(\{ module: import\.meta\.url \}\), or processLanes: 0/,
    );
    const none = planLanes({ definitions, settings, database: null }, { ...options, processLanes: 0 });
    expect(none.sources).toEqual([]);
  });

  it('are made by the settings', () => {
    const definitions = jobs({ heavy: 'process' });
    const lanes = { ...values, workerCpuBudget: 32, workerLaneCores: 8, workerMaxLanes: 9 };
    const host = { definitions, settings: { ...settings, lanes }, database: null };
    const plan = planLanes(host, { ...options, module: 'file:///app.js' });
    expect(plan.sizes).toMatchObject({
      process: 4,
      text: 'lanes: 4 (cpu budget 32 ÷ 8 cores per lane, max 9); inline 10',
    });
    expect(plan.sources.map(({ kind }) => kind)).toEqual(['process']);
  });
});
