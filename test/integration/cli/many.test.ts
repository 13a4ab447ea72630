import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Millrace } from '../../../src/index.js';
import { type Project, project } from './project.js';

let shared: Project;
let client: Millrace;

beforeAll(async () => {
  shared = await project();
  client = shared.client();
  await shared.run(['migrate']);
});

afterAll(() => shared[Symbol.asyncDispose]());

async function buried(queue: string, messages: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const tag of messages) ids.push((await client.dispatch('ok', tag, { queue, tags: [tag] })).id);
  await Promise.all(ids.map((id) => client.bury(id)));
  return ids;
}

const statusOf = async (id: string): Promise<string | undefined> => (await client.job(id))?.status;

describe('[sqlite] changing every job that fits by command', () => {
  test('a dry run counts and shows; without --yes nothing is changed', async () => {
    const [one = '', two = ''] = await buried('dry', ['a', 'b']);
    const dry = await shared.run(['retry', '--where', 'queue=dry,status=buried', '--dry-run']);
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toMatch(/^would make due again 2 jobs\n/);
    expect(dry.stdout).toContain(one.slice(-12));
    const bare = await shared.run(['retry', '--where', 'queue=dry']);
    expect(bare).toMatchObject({ code: 2, stdout: '' });
    expect(bare.stderr).toMatch(/this would make due again 2 jobs\. Add --yes to do it, or --dry-run/);
    expect(await statusOf(two)).toBe('buried');
    const json = await shared.run(['retry', '--where', 'queue=dry', '--dry-run', '--json']);
    expect(json.json()).toMatchObject({
      dryRun: true,
      matched: 2,
      done: 0,
      sample: [{ id: two }, { id: one }],
    });
  });

  test('retry, edit, cancel, bury and delete do it with --yes', async () => {
    const [one = '', two = ''] = await buried('many', ['red', 'green']);
    const retried = await shared.run(['retry', '--where', 'queue=many,tag=red', '--yes']);
    expect(retried).toMatchObject({ code: 0, stdout: '1 job due again\n', stderr: '' });
    const where = ['--where', 'queue=many', '--where', 'status=pending'];
    const edited = await shared.run(['edit', ...where, '--priority', 'high', '--delay', '1h', '--yes']);
    expect(edited.stdout).toBe('1 job edited\n');
    expect(await client.job(one)).toMatchObject({ priority: 10, status: 'pending' });
    const cancelled = await shared.run(['cancel', '--where', 'queue=many', '--yes', '--json']);
    expect(cancelled.json()).toMatchObject({ matched: 1, done: 1, outcomes: { done: 1 } });
    const put = await client.dispatch('ok', 'blue', { queue: 'aside', delay: '1h' });
    const aside = await shared.run(['bury', '--where', 'queue=aside', '--yes']);
    expect(aside).toMatchObject({ code: 0, stdout: '1 job buried\n', stderr: '' });
    expect(await statusOf(put.id)).toBe('buried');
    const gone = await shared.run(['delete', '--where', 'queue=many,older-than=0s', '--yes']);
    expect(gone.stdout).toBe('2 jobs deleted\n');
    expect([await statusOf(one), await statusOf(two)]).toEqual([undefined, undefined]);
    const none = await shared.run(['delete', '--where', 'queue=many', '--yes']);
    expect(none).toMatchObject({ code: 0, stdout: 'no job fits\n' });
  });

  test('edit changes one job, by the schema where the config has one', async () => {
    const { id } = await client.dispatch('ok', { n: 1 }, { queue: 'edit', delay: '1h' });
    const payload = ['--payload', '{"n":2}', '--queue', 'other', '--run-at', '2030-01-31T08:00:00Z'];
    const run = await shared.run(['edit', id.slice(-12), ...payload]);
    expect(run).toMatchObject({ code: 0, stdout: `job ${id} is edited\n`, stderr: '' });
    expect(await client.job(id)).toMatchObject({
      input: { n: 2 },
      queue: 'other',
      dueAt: new Date('2030-01-31T08:00:00Z'),
    });
    await client.cancel(id);
    const late = await shared.run(['edit', id, '--priority', '1']);
    expect(late.code).toBe(1);
    expect(late.stderr).toContain('has ended already, it is cancelled');
  });

  test('jobs are found by tag, error, worker and time', async () => {
    const sent = await shared.run([
      'dispatch',
      'refuse',
      '--queue',
      'found',
      '--tags',
      'here, now',
      '--json',
    ]);
    const { id } = sent.json<{ id: string }>();
    expect((await client.job(id))?.tags).toEqual(['here', 'now']);
    await shared.run(['flush', '--queue', 'found']);
    const ids = async (...flags: string[]): Promise<string[]> =>
      (await shared.run(['jobs', '--queue', 'found', ...flags, '--json']))
        .json<{ jobs: { id: string }[] }>()
        .jobs.map((job) => job.id);
    expect(await ids('--tag', 'here', '--error', 'NEVER', '--ended-after', '1h')).toEqual([id]);
    expect(await ids('--older-than', '1h')).toEqual([]);
    expect(await ids('--worker', (await client.job(id))?.workerId ?? '')).toEqual([id]);
    expect((await shared.run(['job', id])).stdout).toMatch(/tags\s+here, now/);
  });

  test('why says what is in the way, and in JSON with numbers', async () => {
    const { id } = await client.dispatch('ok', 1, { queue: 'why', delay: '1h' });
    const run = await shared.run(['why', id.slice(-12)]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(
      /It is not due yet, but in (1h|59m\d*s?), at .*\[not-due, can change in (1h|59m)\]/,
    );
    expect(run.stdout).toMatch(/\[no-live-worker\]|\[no-worker/);
    const { job, reasons } = (await shared.run(['why', id, '--json'])).json<{
      job: { id: string };
      reasons: { code: string; numbers: Record<string, number>; nextChangeAt: string | null }[];
    }>();
    expect(job.id).toBe(id);
    expect(reasons[0]).toMatchObject({ code: 'not-due', numbers: { dueInMs: expect.any(Number) } });
    expect(reasons[0]?.nextChangeAt).toMatch(/Z$/);
  });

  test.each([
    ['ids and a filter', ['retry', '0199c0de-7a11-7abc-9def-0123456789ab', '--where', 'queue=x'], /not both/],
    ['neither ids nor a filter', ['cancel'], /expected ids of jobs, or --where/],
    [
      '--yes without a filter',
      ['delete', '0199c0de-7a11-7abc-9def-0123456789ab', '--yes'],
      /go with --where/,
    ],
    ['--yes and --dry-run', ['delete', '--where', 'queue=x', '--yes', '--dry-run'], /contradict/],
    ['a term that is none', ['retry', '--where', 'stauts=buried'], /Did you mean status\?/],
    ['a status that is none', ['retry', '--where', 'status=done', '--yes'], /expected one of pending/],
    [
      'a status the change is not for',
      ['cancel', '--where', 'status=completed', '--yes'],
      /cancel is for jobs that are/,
    ],
    [
      'a moment that is none',
      ['delete', '--where', 'older-than=old', '--yes'],
      /--where created-before.*expected/,
    ],
    ['an edit of nothing', ['edit', '0199c0de-7a11-7abc-9def-0123456789ab'], /something to change/],
    [
      'an input without a name',
      ['edit', '--where', 'queue=x', '--payload', '1', '--yes'],
      /"where.name" is needed/,
    ],
    [
      'a payload that is no JSON',
      ['edit', '--where', 'name=ok', '--payload', '{', '--yes'],
      /\[json-invalid\]/,
    ],
    [
      'two due times',
      ['edit', '--where', 'name=ok', '--delay', '1h', '--run-at', '2030-01-31T08:00:00Z'],
      /contradict/,
    ],
    ['a priority that is none', ['edit', '--where', 'name=ok', '--priority', 'top'], /--priority/],
    [
      'a time without its zone',
      ['edit', '--where', 'name=ok', '--run-at', '2030-01-31'],
      /--run-at: expected/,
    ],
    ['an id too short', ['why', 'abc'], /job id: expected/],
    ['a tag of a dispatch with a blank', ['dispatch', 'ok', '--tags', 'a b'], /--tags: expected/],
    ['a tag with a blank', ['jobs', '--tag', 'a b'], /--tag: expected/],
    ['a time that is none', ['jobs', '--ended-after', 'soon'], /--ended-after/],
  ])('%s is exit 2 and one sentence', async (_what, args, message) => {
    const run = await shared.run(args);
    expect(run.stderr).toMatch(message);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('why of an unknown job is exit 1', async () => {
    const run = await shared.run(['why', '0199c0de-7a11-7abc-9def-00000000dead']);
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toContain('[job-not-found]');
  });
});
