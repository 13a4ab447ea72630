import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Millrace } from '../../../src/index.js';
import { type Project, project } from './project.js';

let shared: Project;
let client: Millrace;

beforeAll(async () => {
  shared = await project();
  client = shared.client();
});

afterAll(() => shared[Symbol.asyncDispose]());

const statusOf = async (id: string): Promise<string | undefined> => (await client.job(id))?.status;
const dispatchTo = async (queue: string, name = 'ok'): Promise<string> =>
  (await client.dispatch(name, null, { queue })).id;

describe('[sqlite] changing jobs by command', () => {
  test('bury, retry, cancel and delete do what they say, for several jobs at once', async () => {
    const [one, two] = [await dispatchTo('change'), await dispatchTo('change')];
    const buried = await shared.run(['bury', one, two.slice(-12), '--json']);
    expect(buried.json()).toEqual({
      jobs: [
        { id: one, outcome: 'done' },
        { id: two, outcome: 'done' },
      ],
    });
    expect(await statusOf(two)).toBe('buried');

    const retried = await shared.run(['retry', one]);
    expect(retried).toMatchObject({ code: 0, stderr: '' });
    expect(retried.stdout).toBe(`job ${one} is due again, with a fresh set of attempts\n`);
    expect(await statusOf(one)).toBe('pending');

    expect((await shared.run(['cancel', one])).code).toBe(0);
    expect(await statusOf(one)).toBe('cancelled');
    expect((await shared.run(['delete', one, two])).code).toBe(0);
    expect(await client.job(one)).toBeNull();
  });

  test('what a status does not allow is exit 1 and one sentence, beside what was done', async () => {
    const [fresh, ended] = [await dispatchTo('change'), await dispatchTo('change')];
    await client.cancel(ended);
    const run = await shared.run(['cancel', fresh, ended, '0199c0de-7a11-7abc-9def-00000000dead']);
    expect(run.code).toBe(1);
    expect(run.stdout).toBe(`job ${fresh} is cancelled\n`);
    const lines = run.stderr.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain(
      `job ${ended} has ended already, it is cancelled. It can be retried or deleted`,
    );
    expect(lines[1]).toContain('[job-not-found]');
  });

  test('retry-buried takes one queue or all', async () => {
    const [here, there] = [await dispatchTo('here'), await dispatchTo('there')];
    await Promise.all([client.bury(here), client.bury(there)]);
    expect((await shared.run(['retry-buried', '--queue', 'here', '--json'])).json()).toEqual({
      retried: 1,
      duplicates: 0,
    });
    expect(await statusOf(there)).toBe('buried');
    expect((await shared.run(['retry-buried'])).stdout).toBe('1 job is due again\n');
  });

  test('pause and resume', async () => {
    expect((await shared.run(['pause', 'media'])).stdout).toBe('queue media is paused\n');
    expect(await client.isPaused('media')).toBe(true);
    expect((await shared.run(['resume', 'media', '--json'])).json()).toEqual({
      queue: 'media',
      paused: false,
      wasPaused: true,
    });
    expect(await client.isPaused('media')).toBe(false);
  });

  test('purge deletes what ended so long ago, buried ones only when named', async () => {
    const [cancelled, buried] = [await dispatchTo('old'), await dispatchTo('old')];
    await Promise.all([client.cancel(cancelled), client.bury(buried)]);
    const young = await shared.run(['purge', '--older-than', '1d', '--status', 'cancelled', '--json']);
    expect(young.json()).toEqual({ purged: 0, statuses: ['cancelled'], olderThanMs: 86_400_000 });
    expect(await statusOf(cancelled)).toBe('cancelled');

    const run = await shared.run(['purge', '--older-than', '0ms']);
    expect(run.code).toBe(0);
    expect(await client.job(cancelled)).toBeNull();
    expect(await statusOf(buried)).toBe('buried');
    await shared.run(['purge', '--older-than', '0ms', '--status', 'buried']);
    expect(await client.job(buried)).toBeNull();
  });

  test('recover takes back what a killed worker held, by force at once', async () => {
    const env = { MILLRACE_STALE_TIMEOUT: '1s', MILLRACE_HEARTBEAT: '300ms' };
    const id = await dispatchTo('lost', 'wait');
    const worker = shared.start(['work', '--no-supervisor', '--queue', 'lost'], { env });
    await worker.says(/registered/);
    await expect.poll(() => statusOf(id), { timeout: 10_000 }).toBe('processing');
    await expect.poll(async () => (await client.job(id))?.claimedAt != null, { timeout: 10_000 }).toBe(true);
    worker.child.kill('SIGKILL');
    await worker.ended;
    await expect
      .poll(async () => ((await client.job(id))?.leaseUntil?.getTime() ?? Infinity) < Date.now(), {
        timeout: 10_000,
      })
      .toBe(true);
    const run = await shared.run(['recover', '--force', '--json']);
    expect(run.stderr).toContain('may run twice');
    expect(run.json()).toMatchObject({ retried: { lost: 1 }, buried: {}, ended: 0, waiting: 0 });
    expect(await statusOf(id)).toBe('pending');
    expect((await shared.run(['recover'])).stdout).toBe('no job had to be recovered\n');
  });
});
