import { writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { LaneBench } from '../../support/lane-bench.js';
import { tempDir } from '../../support/temp.js';

const index = pathToFileURL(fileURLToPath(new URL('../../../dist/index.js', import.meta.url))).href;
const define = `const act = defineJob('act', { lane: 'process', run: ({ input }) => [input, 'ran'] });`;
const client = `const millrace = new Millrace({ database: 'memory:', jobs: [act] });`;
const rest = `throw new Error('what follows a start is not run in a lane');`;

const modules: Readonly<Record<string, readonly [string, string]>> = {
  'that awaits the start of its worker': [
    'app.mjs',
    `import { defineJob, Millrace } from '${index}';
     ${define} ${client}
     await millrace.worker({ module: import.meta.url }).start(); ${rest}`,
  ],
  'in TypeScript': [
    'app.ts',
    `import { defineJob, type JobContext, Millrace } from '${index}';
     const act = defineJob('act', { lane: 'process', run: ({ input }: JobContext<object>): unknown => [input, 'ran'] });
     ${client}
     await millrace.worker({ module: import.meta.url }).start(); ${rest}`,
  ],
  'in CommonJS': [
    'app.cjs',
    `import('${index}').then(async ({ defineJob, Millrace }) => {
       ${define} ${client}
       await millrace.worker({ module: __filename }).start(); ${rest}
     });
     // Its import is through before the client is there.
     module.exports = new Promise(() => undefined);`,
  ],
  'with more than one client': [
    'app.mjs',
    `import { defineJob, Millrace } from '${index}';
     ${define}
     const other = new Millrace({ database: 'memory:', jobs: [defineJob('other', { run: () => 1 })] });
     ${client}
     void other.worker().start();
     await new Promise((resolve) => setImmediate(resolve));
     await millrace.worker({ module: import.meta.url }).start(); ${rest}`,
  ],
  'that exports a config': [
    'millrace.config.ts',
    `import { defineConfig, defineJob, type JobContext } from 'millrace';
     const act = defineJob('act', { lane: 'process', run: ({ input }: JobContext<object>): unknown => [input, 'ran'] });
     export default defineConfig({ database: 'sqlite:x.db', jobs: [act] });`,
  ],
};

it.each(Object.entries(modules))('a lane loads a module %s', { timeout: 60_000 }, async (_, [name, text]) => {
  await using dir = tempDir('modules');
  writeFileSync(dir.file(name), text);
  await using bench = await new LaneBench({ module: pathToFileURL(dir.file(name)).href }).started();
  expect(bench.lane.snapshot()).toMatchObject({ state: 'idle', note: null });
  expect(await bench.run({ n: 1 })).toMatchObject({
    kind: 'settled',
    settlement: { kind: 'completed', result: '[{"n":1},"ran"]' },
  });
});
