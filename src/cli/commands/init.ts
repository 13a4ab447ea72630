import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MillraceError } from '../../internal/errors.js';
import type { CommandSpec } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { configNames } from '../find-config.js';

const configText = `import { defineConfig } from 'millrace';
import { hello } from './jobs/hello.js';

export default defineConfig({
  database: 'sqlite:millrace.db', // or postgres://… or mysql://…
  jobs: [hello],
});
`;

const jobText = `import { defineJob, type JobContext } from 'millrace';

export const hello = defineJob('hello', {
  attempts: 3,
  timeout: '30s',
  // A type checks your code. What others dispatch, by the command line too, is checked by a schema: input: z.object({ … })
  async run({ input, log }: JobContext<{ name: string }>) {
    log.info(\`greeting \${input.name}\`);
    return { greeting: \`Hello, \${input.name}!\` };
  },
});
`;

const files = [
  { path: 'jobs/hello.ts', text: jobText },
  { path: 'millrace.config.ts', text: configText },
];

const next = ['npx millrace dispatch hello --payload \'{"name":"world"}\'', 'npx millrace work'];

export const init: CommandSpec = {
  name: 'init',
  summary: 'write a config and a sample job into this folder',
  details:
    'Files that are there are left as they are; .gitignore gets lines for the database file and the folder of worker ids.',
  examples: ['millrace init'],
  async run(context) {
    const { terminal, cwd } = context;
    const present = configNames.find((name) => existsSync(join(cwd, name)));
    const wanted = files.filter(({ path }) => present === undefined || !path.endsWith('config.ts'));
    const created: string[] = [];
    const kept: string[] = present === undefined ? [] : [present];
    for (const { path, text } of wanted)
      ((await writeNew(join(cwd, path), text)) ? created : kept).push(path);
    const ignored = await ignoreDatabase(join(cwd, '.gitignore'));
    if (ignored !== 'kept') created.push('.gitignore');
    terminal.answer({ created, kept, next }, () => {
      for (const path of created) terminal.line(`wrote ${path}`);
      for (const path of kept) terminal.line(`kept  ${path}, which was there`);
      terminal.line('\nNext:');
      for (const command of next) terminal.line(`  ${command}`);
      terminal.line('\nFor PostgreSQL add: npm install pg; for MySQL or MariaDB: npm install mysql2');
    });
    return exitCodes.ok;
  },
};

const ignoredFiles = ['millrace.db*', '.millrace/'];

/** The database and the ids of workers are no part of the source: lines in `.gitignore`, unless they are there already. */
async function ignoreDatabase(file: string): Promise<'kept' | 'written'> {
  const before = existsSync(file) ? await readFile(file, 'utf8') : '';
  const there = new Set(before.split(/\r?\n/).map((line) => line.trim()));
  const missing = ignoredFiles.filter((line) => !there.has(line));
  if (missing.length === 0) return 'kept';
  const gap = before === '' || before.endsWith('\n') ? '' : '\n';
  try {
    await writeFile(file, `${before}${gap}${missing.join('\n')}\n`);
    return 'written';
  } catch (error) {
    const { message } = error as Error;
    throw new MillraceError('usage-invalid', `init: ${file} cannot be written: ${message}`, { cause: error });
  }
}

/** False when the file was there; then it is not touched. */
async function writeNew(file: string, text: string): Promise<boolean> {
  if (existsSync(file)) return false;
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    const { message } = error as Error;
    throw new MillraceError('usage-invalid', `init: ${file} cannot be written: ${message}`, { cause: error });
  }
}
