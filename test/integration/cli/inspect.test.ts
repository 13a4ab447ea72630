import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Project, project } from './project.js';

/** One project for all: these commands only look. */
let shared: Project;
let completed: string;
let buried: string;

beforeAll(async () => {
  shared = await project();
  const client = shared.client();
  completed = (await client.dispatch('ok', { n: 1 })).id;
  buried = (await client.dispatch('nasty', null, { attempts: 1 })).id;
  await shared.run(['flush']);
  await client.dispatch('ok', { n: 2 }, { queue: 'later', delay: '1h', priority: 'high' });
  await client.dispatch('wait', null, { queue: 'later', after: (await client.dispatch('ok')).id });
}, 60_000);

afterAll(() => shared[Symbol.asyncDispose]());

describe('[sqlite] looking at jobs by command', () => {
  test('status shows the numbers of every queue, and of one', async () => {
    const [all, one, text] = await Promise.all([
      shared.run(['status', '--json']),
      shared.run(['status', '--queue', 'later', '--json']),
      shared.run(['status']),
    ]);
    const { queues, workers } = all.json<{ queues: Record<string, unknown>[]; workers: unknown }>();
    expect(queues).toHaveLength(2);
    expect(queues.find(({ queue }) => queue === 'default')).toMatchObject({
      pending: 1,
      claimable: 1,
      completed: 1,
      buried: 1,
    });
    expect(workers).toEqual({ live: 0, running: 0, concurrency: 0 });
    expect(one.json<{ queues: unknown[] }>().queues).toMatchObject([
      { queue: 'later', pending: 1, blocked: 1 },
    ]);
    expect(text.stdout).toMatch(/^QUEUE {2,}PENDING/);
    expect(text.stdout).toContain('no live worker; start one with: millrace work');
    expect(text.code).toBe(0);
  });

  test('jobs lists by filter and pages by cursor', async () => {
    const first = await shared.run(['jobs', '--limit', '2', '--json']);
    const page = first.json<{ jobs: { id: string }[]; next: string }>();
    const [second, mine, none] = await Promise.all([
      shared.run(['jobs', '--limit', '50', '--cursor', page.next, '--json']),
      shared.run(['jobs', '--status', 'buried', '--name', 'nasty', '--queue', 'default', '--json']),
      shared.run(['jobs', '--queue', 'nobody']),
    ]);
    const rest = second.json<{ jobs: { id: string }[]; next: string | null }>();
    expect(page.jobs).toHaveLength(2);
    expect(rest.next).toBeNull();
    expect(new Set([...page.jobs, ...rest.jobs].map(({ id }) => id)).size).toBe(5);
    expect(mine.json<{ jobs: unknown[] }>().jobs).toMatchObject([{ id: buried, status: 'buried' }]);
    expect(none.stdout).toBe('no job fits\n');
  });

  test('a table keeps to 80 columns, and a pipe gets everything', async () => {
    const [narrow, piped] = await Promise.all([
      shared.run(['jobs'], { env: { COLUMNS: '80' } }),
      shared.run(['jobs']),
    ]);
    for (const line of narrow.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(piped.stdout).toContain(completed.slice(-12));
  });

  test.each([40, 60])('tables and the doctor keep to %i columns', async (columns) => {
    const names = ['jobs', 'status', 'workers', 'settings', 'doctor'];
    const runs = await Promise.all(
      names.map((name) => shared.run([name], { env: { COLUMNS: String(columns) } })),
    );
    for (const [index, { stdout }] of runs.entries()) {
      const lines = stdout.split('\n').filter((line) => !line.startsWith('config: '));
      const long = lines.filter((line) => line.length > columns);
      expect(long, names[index]).toEqual([]);
      expect(lines.length, names[index]).toBeGreaterThan(1);
    }
  });

  test('job shows record, result, failures and log, by its id or the end of it', async () => {
    const [document, text] = await Promise.all([
      shared.run(['job', completed.slice(-12), '--json']),
      shared.run(['job', completed.toUpperCase()]),
    ]);
    expect(document.json()).toMatchObject({
      id: completed,
      status: 'completed',
      input: { n: 1 },
      result: { got: { n: 1 } },
      log: [
        { kind: 'log', level: 'info', text: 'did it' },
        { kind: 'progress', text: '{"done":1,"total":2,"note":"half"}' },
      ],
    });
    expect(text.stdout).toContain('did it');
    expect(text.stdout).toContain('1/2 (50 %) half');
  });

  test('what a handler wrote never reaches the terminal raw', async () => {
    const [text, document] = await Promise.all([
      shared.run(['job', buried.slice(-8)]),
      shared.run(['job', buried, '--json']),
    ]);
    expect(text.stdout).toContain(String.raw`\u{1b}[31mred`);
    expect(text.stdout).toContain(String.raw`\u{202e}back`);
    for (const { stdout } of [text, document]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    const { failures } = document.json<{ failures: { error: { message: string } }[] }>();
    expect(failures[0]?.error.message).toContain('\u001b[31mred');
  });

  test('an unknown, an ambiguous and a malformed id are told apart', async () => {
    const common = completed.slice(-6);
    const [unknown, malformed, short] = await Promise.all([
      shared.run(['job', '000000000000']),
      shared.run(['job', 'not-an-id']),
      shared.run(['job', common.slice(-5)]),
    ]);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toMatch(/^millrace: there is no job 000000000000\..*\[job-not-found\]\n$/);
    expect(malformed.code).toBe(2);
    expect(short.code).toBe(2);
    expect(short.stderr).toContain('its last 6 or more characters');
  });

  test('an ambiguous end of an id lists the candidates', async () => {
    const client = shared.client();
    const ids = ['0199c0de-7a11-7abc-9def-000000abcdef', '0199c0de-7a11-7abc-9def-111111abcdef'];
    for (const id of ids) await client.dispatch('ok', null, { id, queue: 'twins', delay: '1h' });
    const run = await shared.run(['cancel', 'abcdef']);
    expect(run.code).toBe(2);
    for (const id of ids) expect(run.stderr).toContain(id);
  });

  test('workers lists who is registered', async () => {
    const run = await shared.run(['workers', '--json']);
    const { workers } = run.json<{ workers: Record<string, unknown>[] }>();
    expect(workers).toMatchObject([{ status: 'offline', queues: ['default'], concurrency: 10 }]);
    expect((await shared.run(['workers'])).stdout).toMatch(/^WORKER {2,}STATUS/);
  });

  test('a reader that goes away after the first line is no error', async () => {
    const run = shared.start(['jobs', '--json']);
    run.child.stdout?.destroy();
    expect(await run.ended).toMatchObject({ code: 0, stderr: '' });
  });
});
