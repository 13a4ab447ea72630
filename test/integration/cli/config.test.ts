import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { command, configModule, project } from './project.js';

interface SettingsDocument {
  readonly config: string | null;
  readonly settings: readonly { name: string; value: string; source: string }[];
  readonly warnings: readonly string[];
}

describe('[sqlite] config and settings', () => {
  test('init writes a config and a job that work as they are, and never overwrites', async () => {
    await using here = await project(null);
    const first = await here.run(['init', '--json']);
    const { created, next } = first.json<{ created: string[]; next: string[] }>();
    expect(created).toEqual(['jobs/hello.ts', 'millrace.config.ts', '.gitignore']);
    expect(await readFile(here.file('.gitignore'), 'utf8')).toBe('millrace.db*\n.millrace/\n');
    expect(next).toHaveLength(2);
    expect(await here.run(['dispatch', 'hello', '--payload', '{"name":"world"}'])).toMatchObject({ code: 0 });
    expect((await here.run(['flush'])).stdout).toMatch(/^1 completed/);

    await here.write('jobs/hello.ts', '// mine');
    await here.write('.gitignore', 'node_modules\nmillrace.db*\n.millrace/');
    const second = await here.run(['init']);
    expect(second.stdout).toContain('kept  jobs/hello.ts');
    expect(second.stdout).toContain('npm install pg');
    expect(await readFile(here.file('.gitignore'), 'utf8')).toBe('node_modules\nmillrace.db*\n.millrace/');
    expect(await readFile(here.file('jobs/hello.ts'), 'utf8')).toBe('// mine');
  });

  test.each(['ts', 'mts', 'js', 'mjs'])(
    'millrace.config.%s is found from a folder below, with its database beside it',
    async (ending) => {
      await using here = await project(null);
      await here.write(`millrace.config.${ending}`, configModule);
      await mkdir(here.file('a/b'), { recursive: true });
      const run = await here.run(['dispatch', 'ok'], { folder: 'a/b' });
      expect(run).toMatchObject({ code: 0, stderr: '' });
      expect(existsSync(here.file('data/test.db'))).toBe(true);
    },
  );

  test('flag before environment before config before default', async () => {
    await using here = await project(
      "import { defineConfig } from 'millrace';\nexport default defineConfig({ attempts: 4, worker: { queues: ['a', 'b'], concurrency: 3 }, killGrace: '2s' });",
    );
    const env = { MILLRACE_KILL_GRACE: '3s', MILLRACE_ATEMPTS: '9' };
    const run = await here.run(['settings', '--database', 'sqlite:x.db', '--json'], { env });
    const { config, settings, warnings } = run.json<SettingsDocument>();
    const of = (name: string) => settings.find((setting) => setting.name === name);
    expect(config).toBe(here.file('millrace.config.mjs'));
    expect(of('database')).toMatchObject({ value: 'sqlite:x.db', source: 'flag' });
    expect(of('killGrace')).toMatchObject({ value: '3s', source: 'environment' });
    expect(of('queue')).toMatchObject({ value: 'a,b', source: 'config' });
    expect(of('concurrency')).toMatchObject({ value: '3', source: 'config' });
    expect(of('attempts')).toMatchObject({ value: '4', source: 'config' });
    expect(of('stopTimeout')).toMatchObject({ source: 'default' });
    expect(warnings).toEqual([
      'MILLRACE_ATEMPTS is set, but there is no such setting; did you mean MILLRACE_ATTEMPTS?',
    ]);
  });

  test('a password in the address is never shown', async () => {
    await using here = await project(null);
    const env = { MILLRACE_DATABASE: 'postgres://u:geheim@127.0.0.1:1/x' };
    const runs = await Promise.all(['settings', 'status', 'doctor'].map((name) => here.run([name], { env })));
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain('geheim');
    expect(runs.map(({ code }) => code)).toEqual([0, 1, 1]);
  });

  test.each([
    ['a syntax error', 'export default {{', /cannot be loaded: .*\.mjs:1:17: Unexpected token/],
    [
      'several mistakes',
      'export default { databse: 1, worker: { queue: "a", duties: 3 }, jobs: [{}] }',
      /4 problems:\n.*Did you mean "database".*\n.*worker\.queue.*\n.*worker\.duties.*\n.*jobs\[0\]/,
    ],
    [
      'a mistake in what it imports',
      'import { jobs } from "./broken.mjs"; export default { jobs }',
      /cannot be loaded: .*broken\.mjs:2:15: /,
    ],
    [
      'an import that imports what is not there',
      'import { jobs } from "./importer.mjs"; export default { jobs }',
      /Cannot find module '\.\/nope\.mjs', imported by .*importer\.mjs/,
    ],
    ['an exception', 'throw new Error("at the top")', /cannot be loaded: at the top/],
    ['no default export', 'export const config = {}', /expected a default export/],
    ['a job that is none', 'export default { jobs: [{}] }', /jobs\[0\]: expected what defineJob\(\) made/],
    ['an unknown key', 'export default { databse: "sqlite:x.db" }', /Did you mean "database"\?/],
    ['a key twice', 'export default { queue: "a", worker: { queues: "b" } }', /say the same thing/],
    ['an import that is not there', 'import "./nope.mjs"; export default {}', /cannot be loaded/],
  ])('a config with %s is exit 2 and names the file', async (_what, text, message) => {
    await using here = await project(text);
    await here.write('broken.mjs', 'export const jobs = [];\nconst other = ];');
    await here.write('importer.mjs', 'import "./nope.mjs";\nexport const jobs = [];');
    const run = await here.run(['status']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(message);
    expect(run.stderr).not.toMatch(/^ {4}at /m);
  });

  test('a stack is shown with --debug only', async () => {
    await using here = await project('throw new Error("at the top")');
    expect((await here.run(['status', '--debug'])).stderr).toMatch(
      /caused by[\s\S]*^ {4}at .*millrace\.config\.mjs/m,
    );
  });

  test('looking at a SQLite file that is not there creates none', async () => {
    await using here = await project();
    const run = await here.run(['status']);
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(/there is no database file .*data\/test\.db\. Run "millrace migrate"/);
    expect(existsSync(here.file('data/test.db'))).toBe(false);
    expect((await here.run(['migrate'])).stdout).toMatch(/applied 1 [\s\S]*is up to date: schema \d/);
    expect((await here.run(['migrate', '--json'])).json()).toMatchObject({ applied: [] });
    expect((await here.run(['status'])).stdout).toContain('no job was dispatched yet');
  });

  test('a folder that is not there is not made; the error says how to', async () => {
    await using here = await project();
    for (const args of [['migrate'], ['dispatch', 'ok']]) {
      const run = await here.run([...args, '--database', 'sqlite:no/such/jobs.db']);
      expect(run.code).toBe(1);
      expect(run.stderr).toMatch(/there is no folder .*\/no\/such for .*Run: mkdir -p .*\/no\/such \[/);
    }
    expect(existsSync(here.file('no'))).toBe(false);
  });

  test('migrate --sql prints and touches no database', async () => {
    await using here = await project();
    const [sqlite, postgres] = await Promise.all([
      here.run(['migrate', '--sql']),
      here.run(['migrate', '--sql', '--database', 'postgres://u:p@127.0.0.1:1/x?schema=mine']),
    ]);
    expect(sqlite.stdout).toMatch(/create table/i);
    expect(postgres.stdout).toMatch(/"?mine"?\./);
    expect(existsSync(here.file('data/test.db'))).toBe(false);
    expect(command).toMatch(/main\.js$/);
  });
});
