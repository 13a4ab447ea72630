import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Millrace } from '../../../src/index.js';
import { type Project, project } from './project.js';

let shared: Project;
let client: Millrace;

beforeAll(async () => {
  shared = await project();
  await shared.write('input.json', '{"from":"a file"}');
  await shared.write('bad.json', '{\n  "a": 1,\n  "b": oops\n}');
  client = shared.client();
});

afterAll(() => shared[Symbol.asyncDispose]());

async function dispatched(args: readonly string[], input?: string) {
  const run = await shared.run(['dispatch', ...args, '--json'], input === undefined ? {} : { input });
  expect(run.stderr).toBe('');
  const { id, deduplicated } = run.json<{ id: string; deduplicated: boolean }>();
  return { id, deduplicated, job: await client.job(id) };
}

describe('[sqlite] dispatching by command', () => {
  test('the payload comes from the flag, a file or standard input', async () => {
    const [flag, file, stdin, none] = await Promise.all([
      dispatched(['ok', '--payload', '{"from":"the flag"}']),
      dispatched(['ok', '--payload', '@input.json']),
      dispatched(['ok', '--payload', '-'], '{"from":"stdin"}'),
      dispatched(['ok']),
    ]);
    expect(flag.job?.input).toEqual({ from: 'the flag' });
    expect(file.job?.input).toEqual({ from: 'a file' });
    expect(stdin.job?.input).toEqual({ from: 'stdin' });
    expect(none.job?.input).toBeNull();
  });

  test('flags go before the definition, dependencies are named by the end of their id', async () => {
    const parent = await dispatched([
      'ok',
      '--queue',
      'media',
      '--priority',
      'high',
      '--attempts',
      '7',
      '--delay',
      '1h',
    ]);
    expect(parent.job).toMatchObject({ queue: 'media', priority: 10, maxAttempts: 7, status: 'pending' });
    expect((parent.job?.dueAt.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
    const child = await dispatched(['ok', '--after', parent.id.slice(-12)]);
    expect(child.job).toMatchObject({ status: 'blocked', waitsFor: [parent.id] });
  });

  test('limit, cost and labels go with it, and show on the job', async () => {
    const limit = ['--group', 'smtp', '--max', '3', '--key', 'tenant 7'];
    const { id, job } = await dispatched([
      'ok',
      ...limit,
      '--cost',
      '5',
      '--requires',
      'gpu,eu',
      '--delay',
      '1h',
    ]);
    expect(job).toMatchObject({
      limit: { group: 'smtp', key: 'tenant 7', max: 3 },
      cost: 5,
      requires: ['eu', 'gpu'],
    });
    const shown = await shared.run(['job', id]);
    expect(shown.stdout).toContain('group smtp, key tenant 7, at most 3 at once');
    const wrong = await shared.run(['dispatch', 'ok', '--max', '0', '--cost', 'x', '--requires', 'a b']);
    expect(wrong.code).toBe(2);
    for (const flag of ['--max', '--cost', '--requires']) expect(wrong.stderr).toContain(flag);
  });

  test('unique by input and by key', async () => {
    const first = await dispatched(['ok', '--queue', 'u', '--payload', '[1]', '--unique']);
    const again = await dispatched(['ok', '--queue', 'u', '--payload', '[1]', '--unique']);
    const keyed = await dispatched(['ok', '--queue', 'u', '--payload', '[1]', '--unique', 'k']);
    expect(again).toMatchObject({ id: first.id, deduplicated: true });
    expect(keyed.deduplicated).toBe(false);
  });

  test('--wait prints the result, or ends with 1 and the failure', async () => {
    await using own = await project();
    const worker = own.start(['work', '--no-supervisor']);
    await worker.says(/registered/);
    const [good, bad, late] = await Promise.all([
      own.run(['dispatch', 'ok', '--payload', '{"n":1}', '--wait']),
      own.run(['dispatch', 'fail', '--wait', '20s', '--json']),
      own.run(['dispatch', 'wait', '--wait', '300ms', '--json']),
    ]);
    expect(good).toMatchObject({ code: 0 });
    expect(JSON.parse(good.stdout)).toEqual({ got: { n: 1 } });
    expect(bad.code).toBe(1);
    expect(bad.stderr).toContain('it broke');
    expect(bad.json()).toMatchObject({
      status: 'buried',
      result: null,
      failures: [{ error: { message: 'it broke' } }],
    });
    expect(late.code).toBe(1);
    expect(late.json()).toMatchObject({ status: 'processing' });
    expect(late.stderr).toMatch(
      /had not ended within 300ms; it is processing\. .*--wait.* \[result-timeout\]/,
    );
  });

  test('a time without a unit counts seconds', async () => {
    const { job } = await dispatched(['ok', '--delay', '3600']);
    expect((job?.dueAt.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
  });

  test('all flags that are wrong are told at once', async () => {
    const args = ['ok', '--priority', 'hihg', '--delay', '5parsecs', '--attempts', '0', '--wait', 'soon'];
    const run = await shared.run(['dispatch', ...args]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(/^millrace: dispatch: 4 problems:\n/);
    for (const flag of ['--priority', '--delay', '--attempts', '--wait']) expect(run.stderr).toContain(flag);
  });

  test.each([
    [
      'a name that the config does not know',
      ['okk'],
      /millrace\.config\.mjs has no job "okk"\. Did you mean "ok"\? It has ok, fail, .*\[job-name-unknown\]/,
    ],
    ['a text without quotes', ['ok', '--payload', 'hello'], /line 1, column 1 .*'"hello"'/],
    [
      'a mistake on the third line of a file',
      ['ok', '--payload', '@bad.json'],
      /bad\.json: .* line 3, column 8 unexpected "oops"/,
    ],
    ['a text that ends too early', ['ok', '--payload', '{"a":'], /line 1, column 6 it ends too early/],
    ['a file that is not there', ['ok', '--payload', '@nope.json'], /nope\.json cannot be read/],
    ['a priority out of range', ['ok', '--priority', '101'], /--priority: expected .* from -100 to 100/],
    ['a folder for a file', ['ok', '--payload', '@.'], /expected a file of JSON behind the @, got a folder/],
    [
      'a number that would be changed',
      ['ok', '--payload', '{"id": 9007199254740993}'],
      /at line 1, column 8 the number 9007199254740993 .*Give it as a text/,
    ],
    ['a database that ends with the command', ['ok', '--database', 'memory:'], /got memory:, which ends/],
    ['attempts that are no number', ['ok', '--attempts', 'many'], /--attempts: expected a whole number/],
    ['a queue name with a blank', ['ok', '--queue', 'a b'], /queue name: expected/],
    ['a time to wait that is none', ['ok', '--wait', 'soon'], /--wait: expected/],
  ])('%s is exit 2 and one sentence', async (_what, args, message) => {
    const run = await shared.run(['dispatch', ...args]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(message);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});
