import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands/index.js';
import { createProgram } from '../../../src/cli/program.js';
import { type Project, project } from './project.js';

/** What is wrong, what was typed, what stderr says of it. */
const wrongInputs: readonly (readonly [string, readonly [string, ...string[]], RegExp])[] = [
  ['an unknown command', ['stauts'], /unknown command 'stauts'\. Did you mean status\?/],
  ['help about an unknown command', ['help', 'stauts'], /unknown command 'stauts'\. Did you mean status\?/],
  ['init: a flag that it has not', ['init', '--force'], /unknown option '--force'/],
  ['init: too many arguments', ['init', 'here'], /too many arguments for 'init'/],
  ['migrate: a misspelt flag', ['migrate', '--sqll'], /unknown option '--sqll'\. Did you mean --sql\?/],
  ['migrate: too many arguments', ['migrate', 'up'], /too many arguments for 'migrate'/],
  ['migrate: a database without tables', ['migrate', '--database', 'memory:'], /\[database-url-invalid\]/],
  ['migrate --sql: the same', ['migrate', '--sql', '--database', 'memory:'], /\[database-url-invalid\]/],
  ['work: a misspelt flag', ['work', '--concurency', '2'], /Did you mean --concurrency\?/],
  ['work: a pool beside --once', ['work', '--once', '--workers', '2'], /--once .* --workers/],
  ['hub: too many arguments', ['hub', 'up'], /too many arguments for 'hub'/],
  ['hub: a misspelt flag', ['hub', '--prot', '1'], /unknown option '--prot'\. Did you mean --port\?/],
  ['up: too many arguments', ['up', 'all'], /too many arguments for 'up'/],
  ['up: a misspelt flag', ['up', '--prot', '1'], /unknown option '--prot'\. Did you mean --port\?/],
  ['flush: a concurrency of 0', ['flush', '--concurrency', '0'], /--concurrency: expected .*got "0"/],
  ['flush: a queue that is none', ['flush', '--queue', 'a b'], /--queue: queue list: expected/],
  ['tick: a budget that is none', ['tick', '--budget', 'soon'], /--budget: expected/],
  ['dispatch: a misspelt priority', ['dispatch', 'ok', '--priority', 'hihg'], /priority: expected .*"hihg"/],
  ['dispatch: a job name that is unknown', ['dispatch', 'okk'], /\[job-name-unknown\]/],
  ['dispatch: a payload that is no JSON', ['dispatch', 'ok', '--payload', '{'], /\[json-invalid\]/],
  ['jobs: a misspelt flag', ['jobs', '--statsu', 'x'], /unknown option '--statsu'\. Did you mean --status\?/],
  ['jobs: a flag without its value', ['jobs', '--status'], /argument missing/],
  ['jobs: a status that is none', ['jobs', '--status', 'done'], /expected one of pending, .*got "done"/],
  ['jobs: a limit of 0', ['jobs', '--limit', '0'], /--limit: expected .*from 1 to 1000/],
  ['jobs: a limit that is no number', ['jobs', '--limit', 'x'], /from 1 to 1000, got "x"/],
  ['jobs: a cursor that is none', ['jobs', '--cursor', 'x'], /\[cursor-invalid\]/],
  ['job: a missing argument', ['job'], /missing required argument 'id'/],
  ['job: an id that is none', ['job', 'nope!'], /job id: expected .*got "nope!"/],
  ['files: an id that is none', ['files', 'nope!'], /job id: expected .*got "nope!"/],
  ['capture: no address', ['capture'], /missing required argument 'url'/],
  [
    'capture: half an address',
    ['capture', 'example.com'],
    /<url>: expected a whole address .*got "example.com"/,
  ],
  [
    'capture: a misspelt flag',
    ['capture', 'https://a.b', '--asets'],
    /unknown option '--asets'\. Did you mean --assets\?/,
  ],
  [
    'capture: a device that is none',
    ['capture', 'https://a.b', '--device', 'tv'],
    /option "device": expected 'desktop'/,
  ],
  [
    'capture: a time that is none',
    ['capture', 'https://a.b', '--timeout', 'soon'],
    /option "timeout": expected/,
  ],
  ['why: an id that is none', ['why', 'nope!'], /job id: expected .*got "nope!"/],
  ['status: too many arguments', ['status', 'extra'], /too many arguments/],
  ['status: an address that is none', ['status', '--database', 'x'], /\[database-url-invalid\]/],
  ['status: an address of nothing', ['status', '--database', ''], /--database: expected sqlite:.*, got ""/],
  ['fleet: no deed', ['fleet'], /missing required argument 'deed'/],
  [
    'fleet: a misspelt deed',
    ['fleet', 'recycel'],
    /expected recycle, got "recycel"\. Did you mean recycle\?/,
  ],
  ['fleet: a share that is none', ['fleet', 'recycle', '--max-unavailable', 'half'], /a share such as 25%/],
  ['fleet: a share above all', ['fleet', 'recycle', '--max-unavailable', '101%'], /up to 100%.*got "101%"/],
  ['fleet: nobody at once', ['fleet', 'recycle', '--max-unavailable', '0'], /workers from 1, got "0"/],
  [
    'fleet: a time that is none',
    ['fleet', 'recycle', '--return-within', 'soon'],
    /--return-within: expected/,
  ],
  ['fleet: a time too short', ['fleet', 'recycle', '--drain-within', '1ms'], /--drain-within: .*at least 1s/],
  ['edit: nothing to change', ['edit', 'abcdef'], /edit: expected something to change/],
  ['edit: an id that is none', ['edit', 'nope!', '--priority', 'high'], /job id: expected .*got "nope!"/],
  ['retry: no id', ['retry'], /\[usage-invalid\]/],
  ['retry: an id that is none', ['retry', 'nope!'], /job id: expected .*got "nope!"/],
  ['retry: an id that is too short', ['retry', 'abc'], /last 6 or more characters, got "abc"/],
  ['retry: a term that is none', ['retry', '--where', 'colour=red', '--dry-run'], /colour/],
  ['bury: no id', ['bury'], /\[usage-invalid\]/],
  ['bury: an id that is none', ['bury', 'nope!'], /job id: expected .*got "nope!"/],
  ['cancel: no id', ['cancel'], /\[usage-invalid\]/],
  ['cancel: one bad id among others', ['cancel', 'abcdef', 'nope!'], /job id: expected .*got "nope!"/],
  ['delete: no id', ['delete'], /\[usage-invalid\]/],
  ['delete: an id that is none', ['delete', 'nope!'], /job id: expected .*got "nope!"/],
  ['delete: an id beside a filter', ['delete', 'abcdef', '--where', 'queue=a'], /\[usage-invalid\]/],
  ['retry-buried: a queue that is none', ['retry-buried', '--queue', 'a b'], /queue name: expected/],
  ['recover: a misspelt flag', ['recover', '--forc'], /unknown option '--forc'\. Did you mean --force\?/],
  ['recover: too many arguments', ['recover', 'abcdef'], /too many arguments for 'recover'/],
  ['purge: an age that is none', ['purge', '--older-than', 'old'], /--older-than: expected/],
  ['purge: a status that can’t be purged', ['purge', '--status', 'pending'], /--status: expected one of/],
  ['pause: a queue name with a blank', ['pause', 'a b'], /queue name: expected/],
  ['resume: a queue name with a blank', ['resume', 'a b'], /queue name: expected/],
  ['resume: no queue', ['resume'], /missing required argument 'queue'/],
  ['workers: a flag that it has not', ['workers', '--queue', 'a'], /unknown option '--queue'/],
  ['workers: too many arguments', ['workers', 'w-1'], /too many arguments for 'workers'/],
  ['worker: a misspelt deed', ['worker', 'drian', 'w-1'], /got "drian"\. Did you mean drain\?/],
  ['worker: no id', ['worker', 'drain'], /missing required argument 'id'/],
  ['token: no deed', ['token'], /missing required argument 'deed'/],
  ['token: a misspelt deed', ['token', 'creat'], /got "creat"\. Did you mean create\?/],
  ['token create: no role', ['token', 'create', '--name', 'w1'], /create needs --role and --name/],
  ['token create: an id', ['token', 'create', 'x', '--role', 'read', '--name', 'a'], /create takes no id/],
  [
    'token create: a role that is none',
    ['token', 'create', '--role', 'root', '--name', 'a'],
    /expected one of admin, .*"root"/,
  ],
  ['token list: a role', ['token', 'list', '--role', 'read'], /--role belongs to create alone/],
  ['token revoke: no id', ['token', 'revoke'], /revoke needs the id/],
  ['token revoke: an id that is none', ['token', 'revoke', 'mr_x'], /12 letters and digits .*got "mr_x"/],
  ['audit: a limit of 0', ['audit', '--limit', '0'], /--limit: expected .*from 1 to 1000/],
  ['audit: a cursor that is none', ['audit', '--cursor', 'x'], /\[cursor-invalid\]/],
  ['settings: too many arguments', ['settings', 'queue'], /too many arguments for 'settings'/],
  ['settings: a config that is not there', ['settings', '--config', 'away.mjs'], /--config: expected a file/],
  ['doctor: a flag that it has not', ['doctor', '--fix'], /unknown option '--fix'/],
];

let shared: Project;

beforeAll(async () => {
  shared = await project();
  await shared.run(['migrate']);
});

afterAll(() => shared[Symbol.asyncDispose]());

describe('[sqlite] how commands are called', () => {
  test.each(wrongInputs)('%s is exit 2 and one sentence on stderr', async (_what, args, message) => {
    const run = await shared.run(args);
    expect(run.stderr).toMatch(message);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(run).toMatchObject({ code: 2, stdout: '' });
  });

  test('every command has wrong inputs here', () => {
    const program = createProgram({
      commands,
      writeOut: () => undefined,
      helpWidth: 80,
      run: () => Promise.resolve(),
    });
    const tried = new Set(wrongInputs.map(([, [command]]) => command));
    const names = program.commands.map((command) => command.name());
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !tried.has(name))).toEqual([]);
  });

  test.each([
    ['a setting', ['work', '--concurrency', '0'], /--concurrency: expected .*1 to 1000, got "0"/],
    ['a queue', ['work', '--queue', 'a b'], /--queue: queue list: expected/],
  ])('%s that a worker can’t start with is exit 64 and one sentence', async (_what, args, message) => {
    const run = await shared.run(args);
    expect(run.stderr).toMatch(message);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(run).toMatchObject({ code: 64, stdout: '' });
  });

  test('several settings that can’t be used are told at once, one a line', async () => {
    const run = await shared.run(['flush', '--concurrency', '0', '--log-level', 'loud']);
    expect(run.stderr).toMatch(
      /^millrace: 2 settings cannot be used:\n {2}--concurrency: .*\n {2}--log-level: .*\n$/,
    );
    expect(run).toMatchObject({ code: 2, stdout: '' });
  });

  test.each(['retry', 'bury', 'cancel', 'delete', 'edit', 'job', 'files', 'why'])(
    '%s of a job that is not there is exit 1 and says so',
    async (command) => {
      const change = command === 'edit' ? ['--priority', 'high'] : [];
      const run = await shared.run([command, '0197f000-0000-7000-8000-000000000000', ...change]);
      expect(run.stderr).toMatch(/there is no job 0197f000-.*\[job-not-found\]\n$/);
      expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
      expect(run).toMatchObject({ code: 1, stdout: '' });
    },
  );

  test('init that can’t write says what and why, and leaves no half of it', async () => {
    await using empty = await project(null);
    await empty.write('jobs', 'a file where a folder has to be');
    const run = await empty.run(['init']);
    expect(run.stderr).toMatch(/init: .*jobs\/hello\.ts cannot be written: .*\[usage-invalid\]\n$/);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(existsSync(empty.file('millrace.config.ts'))).toBe(false);
  });

  test('no command at all is exit 2 and shows what there is', async () => {
    const run = await shared.run([]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(/^millrace: a command is missing.*\n\nUsage: millrace [\s\S]*retry-buried/);
  });

  test.each([
    ['dispatch', ['dispatch', 'ok', '--priority', 'hihg']],
    ['dispatch, its name', ['dispatch', 'nope']],
    ['jobs', ['jobs', '--limit', 'x']],
    ['job', ['job', 'nope!']],
    ['purge', ['purge', '--status', 'done']],
    ['pause', ['pause', 'a b']],
    ['status', ['status', '--queue', 'a b']],
    ['retry-buried', ['retry-buried', '--queue', 'a b']],
    ['cancel', ['cancel', 'nope!']],
  ])('%s: what was typed is checked before the database is opened', async (_what, args) => {
    const run = await shared.run([...args, '--database', 'postgres://u:p@127.0.0.1:1/x']);
    expect(run.stderr).not.toContain('database-unreachable');
    expect(run.code).toBe(2);
  });

  test('with --json an error is a document on stdout, and prose on stderr all the same', async () => {
    const [wrong, away, unknown, config] = await Promise.all([
      shared.run(['jobs', '--limit', '0', '--json']),
      shared.run(['status', '--json', '--database', 'postgres://u:geheim@127.0.0.1:1/x']),
      shared.run(['stauts', '--json']),
      shared.run(['work', '--json', '--heartbeat', '1h']),
    ]);
    expect(wrong.json()).toEqual({
      error: { code: 'option-invalid', message: expect.stringContaining('--limit: expected') },
    });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('[option-invalid]') });
    expect(away.json()).toMatchObject({ error: { code: 'database-unreachable' } });
    expect(away.stdout).not.toContain('geheim');
    expect(unknown.json()).toMatchObject({ error: { code: 'usage-invalid' } });
    expect(config).toMatchObject({ code: 64 });
    expect(config.json()).toMatchObject({ error: { code: 'settings-invalid' } });
  });

  test('a server that is away is exit 1, with where it was looked for', async () => {
    for (const address of ['postgres://u:p@127.0.0.1:1/x', 'mysql://u:p@127.0.0.1:1/x']) {
      const run = await shared.run(['status', '--database', address]);
      expect(run).toMatchObject({ code: 1, stdout: '' });
      expect(run.stderr).toMatch(/127\.0\.0\.1:1.*\[database-unreachable\]\n$/);
      expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
    }
  });

  test('help and version go to stdout and are exit 0', async () => {
    const [help, command, version] = await Promise.all([
      shared.run(['--help']),
      shared.run(['help', 'dispatch']),
      shared.run(['--version']),
    ]);
    for (const run of [help, command, version]) expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('retry-buried');
    expect(command.stdout).toContain('$ millrace dispatch');
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
