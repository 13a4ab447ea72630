import { describe, expect, test } from 'vitest';
import type { FleetRecycleReport } from '../../../src/index.js';
import { waitFor } from '../../support/wait-for.js';
import { type Project, project } from './project.js';

const config = `
import { defineConfig } from 'millrace';
import { jobs } from './jobs.mjs';
export default defineConfig({
  database: 'sqlite:data/test.db?synchronous=NORMAL', jobs, heartbeat: '500ms', staleTimeout: '5s', workerTtl: '8s',
});
`;

interface Running {
  readonly id: string;
  readonly incarnation: string;
  readonly pid: number;
}

async function running(here: Project, count: number): Promise<readonly Running[]> {
  const client = here.client();
  return waitFor(
    async () => {
      const live = (await client.workers()).filter(({ state, alive }) => alive && state === 'RUNNING');
      return live.length === count && live.map(({ id, incarnation, pid }) => ({ id, incarnation, pid }));
    },
    { describe: `${count} workers to run`, deadlineMs: 60_000, intervalMs: 100 },
  );
}

describe('[sqlite] millrace fleet recycle', { timeout: 240_000 }, () => {
  test('renews four workers one after the other, under their ids, and interrupts no job', async () => {
    await using here = await project(config);
    here.start(['work', '--workers', '4'], { longestMs: 230_000 });
    const before = await running(here, 4);
    const client = here.client();
    const jobs = await client.dispatchMany(
      Array.from({ length: 8 }, () => ({ job: 'wait', input: { ms: 1_500 } })),
    );
    const recycling = here.start(['fleet', 'recycle', '--json'], { longestMs: 200_000 });
    let mostAway = 0;
    let isOver = false;
    void recycling.ended.then(() => {
      isOver = true;
    });
    await waitFor(
      async () => {
        const workers = await client.workers();
        const away = workers.filter(({ state, alive }) => !alive || state !== 'RUNNING').length;
        mostAway = Math.max(mostAway, away);
        return isOver;
      },
      { describe: 'the recycle to end', deadlineMs: 200_000, intervalMs: 50 },
    );
    const run = await recycling.ended;
    expect(run.code, run.stderr).toBe(0);
    const report = run.json<FleetRecycleReport>();
    expect(report).toMatchObject({
      outcome: 'done',
      reason: null,
      total: 4,
      asked: [],
      away: [],
      waiting: [],
    });
    expect([...report.back].sort()).toEqual(before.map(({ id }) => id).sort());
    expect(mostAway).toBe(1);

    const after = await running(here, 4);
    expect(after.map(({ id }) => id).sort()).toEqual(before.map(({ id }) => id).sort());
    const old = new Set(before.map(({ incarnation }) => incarnation));
    expect(after.filter(({ incarnation }) => old.has(incarnation))).toEqual([]);
    for (const job of jobs) {
      await job.result({ timeout: '30s' });
      expect(await job.job()).toMatchObject({ status: 'completed', attempts: 0, deaths: 0 });
    }
    const { entries } = await client.audit();
    const deeds = entries.map(({ action, source }) => `${action} ${source}`);
    expect(deeds.filter((deed) => deed === 'worker.recycle cli')).toHaveLength(4);
    expect(entries.filter(({ action }) => action === 'fleet.recycle').map(({ result }) => result)).toEqual([
      'done: 4 of 4 recycled',
      'started: 4 workers, at most 1 away at once',
    ]);
  });

  test('stops at the first worker that nobody starts again, and asks nobody else', async () => {
    await using here = await project(config);
    for (let count = 0; count < 2; count += 1)
      here.start(['work', '--no-supervisor'], { longestMs: 200_000 });
    const before = await running(here, 2);
    const run = await here.run(['fleet', 'recycle', '--return-within', '3s', '--json']);
    expect(run.code).toBe(1);
    const report = run.json<FleetRecycleReport>();
    expect(report).toMatchObject({ outcome: 'stopped', total: 2, back: [], asked: [], left: [] });
    const [lost = ''] = report.away;
    expect(before.map(({ id }) => id)).toContain(lost);
    expect(report.reason).toBe(`no process runs in the place of ${lost} 3s after it ended`);
    expect(run.stderr).toMatch(/^stopped: no process runs in the place of .* 1 were not asked and run on/m);
    const left = await running(here, 1);
    expect(report.waiting).toEqual(left.map(({ id }) => id));
  });

  test('with nobody there it is done at once', async () => {
    await using here = await project(config);
    await here.run(['migrate']);
    const run = await here.run(['fleet', 'recycle']);
    expect(run).toMatchObject({ code: 0, stdout: 'no worker lives, so there is none to recycle\n' });
  });
});
