import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Project, project } from './project.js';

let shared: Project;

beforeAll(async () => {
  shared = await project();
  await shared.run(['migrate']);
});

afterAll(() => shared[Symbol.asyncDispose]());

describe('[sqlite] how commands are called', () => {
  test.each([
    ['an unknown command', ['stauts'], /unknown command 'stauts'\. Did you mean status\?/],
    ['help about an unknown command', ['help', 'stauts'], /unknown command 'stauts'\. Did you mean status\?/],
    ['an unknown flag', ['jobs', '--statsu', 'x'], /unknown option '--statsu'\. Did you mean --status\?/],
    ['a flag without its value', ['jobs', '--status'], /argument missing/],
    ['a missing argument', ['job'], /missing required argument 'id'/],
    ['too many arguments', ['status', 'extra'], /too many arguments/],
    ['a status that is none', ['jobs', '--status', 'done'], /expected one of pending, .*got "done"/],
    ['a limit of 0', ['jobs', '--limit', '0'], /--limit: expected .*from 1 to 1000/],
    ['a limit that is no number', ['jobs', '--limit', 'x'], /from 1 to 1000, got "x"/],
    ['a cursor that is none', ['jobs', '--cursor', 'x'], /\[cursor-invalid\]/],
    ['a queue name with a blank', ['pause', 'a b'], /queue name: expected/],
    ['an age that is none', ['purge', '--older-than', 'old'], /--older-than: expected/],
    ['a status that can’t be purged', ['purge', '--status', 'pending'], /--status: expected one of/],
    ['an address that is none', ['status', '--database', 'x'], /\[database-url-invalid\]/],
  ])('%s is exit 2 and one sentence on stderr', async (_what, args, message) => {
    const run = await shared.run(args);
    expect(run.stderr).toMatch(message);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(run).toMatchObject({ code: 2, stdout: '' });
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
