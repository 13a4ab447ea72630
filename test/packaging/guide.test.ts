import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { expect, test } from 'vitest';
import { serverAvailable, testDatabase } from '../support/servers.js';
import { tempDir } from '../support/temp.js';
import { root, runNode } from './packed.js';

/** The one that asks for a server. */
const onServer = 'place-order.test.js';

/** Those that the page names: `file=sign-up.ts`. */
const namedBlock = /^```ts file=(\S+)\n([\s\S]*?)^```$/gm;

test('the tests in the guide about testing pass as they stand there', { timeout: 60_000 }, async () => {
  await using folder = tempDir('guide');
  await mkdir(folder.file('node_modules'));
  await symlink(root, folder.file('node_modules/millrace'), 'dir');
  await symlink(join(root, 'node_modules/pg'), folder.file('node_modules/pg'), 'dir');
  await writeFile(folder.file('package.json'), '{"type":"module"}');
  const guide = await readFile(join(root, 'docs/guides/testing.md'), 'utf8');
  const names: string[] = [];
  for (const [, file = '', text = ''] of guide.matchAll(namedBlock)) {
    const name = file.replace(/\.ts$/, '.js');
    const { code } = await transform(text, { loader: 'ts', target: 'node20' });
    await writeFile(folder.file(name), code);
    names.push(name);
  }
  await using database = serverAvailable('postgres') ? await testDatabase('postgres') : null;
  const tests = names.filter((name) => name.endsWith('.test.js') && (database !== null || name !== onServer));
  const env = database === null ? {} : { TEST_DATABASE_URL: database.url };
  const { stdout } = await runNode(['--test', '--test-reporter=tap', ...tests], folder.path, env);
  expect(tests).toHaveLength(database === null ? 3 : 4);
  expect(stdout).toMatch(database === null ? /^# pass 6$/m : /^# pass 7$/m);
  expect(stdout).toMatch(/^# fail 0$/m);
  const tookMs = Number(/^# duration_ms ([\d.]+)$/m.exec(stdout)?.[1]);
  process.stdout.write(`guide: ${Math.round(tookMs)} ms for all tests, three processes included\n`);
});
