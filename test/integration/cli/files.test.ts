import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { project } from './project.js';

const config = `
import { defineConfig, defineJob } from 'millrace';
const keeps = defineJob('keeps', {
  async run({ files }) {
    await files.put('../a.txt', 'first');
    await files.put('b.json', '{}');
  },
});
export default defineConfig({ database: 'sqlite:data/test.db?synchronous=NORMAL', jobs: [keeps] });
`;

test('[sqlite] files are kept beside the config, shown, listed and saved by command', async () => {
  await using here = await project(config);
  await here.write('below/README', '');
  const { id } = await here.client().dispatch('keeps');
  expect((await here.run(['flush'], { folder: 'below' })).code).toBe(0);
  expect(await readdir(here.file('.millrace'))).toContain('files');
  const [listed, shown, saved] = await Promise.all([
    here.run(['files', id, '--json']),
    here.run(['job', id]),
    here.run(['files', id.slice(-8), '-o', 'out'], { folder: 'below' }),
  ]);
  expect(listed.json<{ files: object[] }>()).toMatchObject({
    files: [{ name: 'a.txt', type: 'text/plain; charset=utf-8', sizeBytes: 5 }, { name: 'b.json' }],
    folder: null,
  });
  expect(shown.stdout).toMatch(/files\n\s+a\.txt {2}text\/plain; charset=utf-8 {2}5 B\n\s+b\.json/);
  expect(saved.stdout).toMatch(/saved 2 in .*below\/out\n$/);
  expect(await readdir(here.file('below/out'))).toEqual(['a.txt', 'b.json']);
  expect(await readFile(here.file('below/out/a.txt'), 'utf8')).toBe('first');
}, 60_000);
