import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempDir } from '../support/temp.js';
import { commandOf, installInto, link, pack, root, runNode, runProgram, sizeOf } from './packed.js';

const folder = tempDir('install');
const app = folder.file('app');
const npmTimeoutMs = 180_000;
let installedBytes = 0;

const jobs = `
import { defineJob, type JobContext } from 'millrace';

export const greet = defineJob('greet', {
  run: ({ input }: JobContext<{ name: string }>) => ({ greeting: \`Hello \${input.name}\`, at: new Date(0) }),
});
`;
const main = `
import { Millrace } from 'millrace';
import { greet } from './jobs.js';

await using millrace = new Millrace({ database: 'sqlite:app.db', jobs: [greet] });
await using worker = millrace.worker();
await worker.start();
const handle = await millrace.dispatch(greet, { name: 'Ada' });
const result: { greeting: string; at: string } = await handle.result({ timeout: '20s' });
process.stdout.write(JSON.stringify(result));
`;
const testing = `
import { createTestKit } from 'millrace/testing';
import { greet } from './jobs.js';

await using kit = await createTestKit({ jobs: [greet] });
await kit.millrace.dispatch(greet, { name: 'Ada' }, { delay: '1d' });
await kit.advance('1d');
const { runs } = await kit.runUntilIdle();
process.stdout.write(JSON.stringify({ input: kit.expectDispatched(greet, { name: 'Ada' }).input, runs: runs.length }));
`;
const drivers = `
import { isMillraceError, Millrace } from 'millrace';

for (const database of ['postgres://localhost/x', 'mysql://localhost/x']) {
  const millrace = new Millrace({ database });
  await millrace.open().catch((error: unknown) => {
    process.stdout.write(isMillraceError(error) ? \`\${error.code}: \${error.message}\\n\` : String(error));
  });
  await millrace.close();
}
`;
// As strict as it gets, and with the declarations of the package checked too.
const compilerOptions = {
  target: 'ES2022',
  module: 'NodeNext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  outDir: 'dist',
  rootDir: '.',
};

beforeAll(async () => {
  await installInto(app, await pack(folder.path));
  installedBytes = await sizeOf(join(app, 'node_modules'));
  await link(app, ['better-sqlite3', '@types/node']);
  const files = { 'jobs.ts': jobs, 'main.ts': main, 'testing.ts': testing, 'drivers.ts': drivers };
  for (const [name, text] of Object.entries(files)) await writeFile(join(app, name), text);
  await writeFile(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  await runNode([commandOf('typescript', 'tsc'), '-p', app, '--pretty', 'false'], app);
}, npmTimeoutMs);
afterAll(() => folder[Symbol.asyncDispose]());

describe('the package, installed into an empty project', () => {
  test('a TypeScript application compiles and runs', { timeout: npmTimeoutMs }, async () => {
    const { stdout } = await runNode(['dist/main.js'], app);
    expect(JSON.parse(stdout)).toEqual({ greeting: 'Hello Ada', at: '1970-01-01T00:00:00.000Z' });
  });

  test('the test kit is there', async () => {
    const { stdout } = await runNode(['dist/testing.js'], app);
    expect(JSON.parse(stdout)).toEqual({ input: { name: 'Ada' }, runs: 1 });
  });

  test('the command is there', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const { stdout } = await runProgram('npx', ['--no-install', 'millrace', '--version'], app);
    expect(stdout.trim()).toBe(version);
  });

  test('a driver that is not installed is asked for by its name', async () => {
    const { stdout } = await runNode(['dist/drivers.js'], app);
    const [postgres, mysql] = stdout.split('\n');
    expect(postgres).toMatch(/^driver-missing: .*npm install pg/);
    expect(mysql).toMatch(/^driver-missing: .*npm install mysql2/);
  });

  test('only what is exported can be imported', async () => {
    await expect(runNode(['-e', "import('millrace/dist/index.js')"], app)).rejects.toThrow(
      /ERR_PACKAGE_PATH_NOT_EXPORTED/,
    );
  });

  test('it takes the space that the README says', async () => {
    const ownMb = (await sizeOf(join(app, 'node_modules/millrace'))) / 1e6;
    const allMb = installedBytes / 1e6;
    process.stdout.write(`install: ${ownMb.toFixed(1)} MB, with dependencies ${allMb.toFixed(1)} MB\n`);
    const readme = readFileSync(join(root, 'README.md'), 'utf8').replaceAll('\n', ' ');
    const said = /takes (?<own>[\d.]+) MB, (?<all>[\d.]+) MB with what it depends on/.exec(readme)?.groups;
    // Within a quarter: the number is for those who compare, not for every commit.
    expect(Math.abs(Number(said?.['own']) / ownMb - 1)).toBeLessThan(0.25);
    expect(Math.abs(Number(said?.['all']) / allMb - 1)).toBeLessThan(0.25);
  });
});
