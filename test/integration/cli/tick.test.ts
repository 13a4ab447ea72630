import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { project } from './project.js';

describe('[sqlite] millrace tick and work --once', () => {
  test('tick runs what is due within its budget, and tells what came of it', async () => {
    await using here = await project();
    const client = here.client();
    for (let n = 0; n < 3; n += 1) await client.dispatch('ok', { n });
    await client.dispatch('wait', { ms: 60_000 });
    await client.dispatch('ok', null, { queue: 'other' });
    const run = await here.run(['tick', '--budget', '7s', '--json']);
    expect(run.code).toBe(0);
    expect(run.json()).toEqual({
      ...{ completed: 3, failed: 0, buried: 0, cancelled: 0, snoozed: 0, putBack: 1, died: 0, leaseLost: 0 },
      recovered: { retried: {}, buried: {}, ended: 0, waiting: 0 },
      timeIsUp: true,
    });
    expect(await here.run(['tick', '--queue', '*,!default'])).toMatchObject({
      code: 0,
      stdout: '1 completed, 0 failed, 0 buried, 0 put back\n',
    });
  });

  test('work --once runs at most one job, and ends with 0 when nothing is due', async () => {
    await using here = await project();
    const client = here.client();
    for (let n = 0; n < 2; n += 1) await client.dispatch('ok', { n });
    expect((await here.run(['work', '--once', '--json'])).json()).toMatchObject({ completed: 1, putBack: 0 });
    expect((await here.run(['work', '--once', '--json'])).json()).toMatchObject({ completed: 1 });
    expect(await here.run(['work', '--once', '--json'])).toMatchObject({ code: 0 });
    expect(await client.stats('default')).toMatchObject({ completed: 2, pending: 0 });
  });

  test('what does not fit together is refused with 2', async () => {
    await using here = await project();
    const run = await here.run(['work', '--once', '--workers', '2']);
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/--once runs one job in this process, so --workers can't stand beside it/);
    expect((await here.run(['tick', '--budget', 'soon'])).code).toBe(2);
    expect((await here.run(['flush', '--queue', 'a:6,b'])).stderr).toMatch(
      /"a" has a share and "b" has none/,
    );
  });

  test('the crontab that is shipped calls what there is', async () => {
    await using here = await project();
    const crontab = readFileSync(new URL('../../../deploy/crontab', import.meta.url), 'utf8');
    const [, args = ''] = /millrace (tick .*?) >>/.exec(crontab) ?? [];
    expect(await here.run(args.split(' '))).toMatchObject({ code: 0 });
  });
});
