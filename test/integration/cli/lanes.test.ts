import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { membersOfGroups } from '../../support/process-groups.js';
import { waitFor } from '../../support/wait-for.js';
import { project } from './project.js';

const config = `
import { defineConfig, defineJob } from 'millrace';
type Input = { die?: boolean };
const heavy = defineJob('heavy', { lane: 'process', run: ({ input }: { input: Input }) => (input.die ? process.exit(7) : process.pid) });
const light = defineJob('light', { run: () => process.pid });
export default defineConfig({ database: 'sqlite:data/test.db?synchronous=NORMAL', jobs: [heavy, light], workerSleep: '200ms' });
`;

test('[sqlite] a worker of a TypeScript config runs its process lanes by the same config, and leaves none behind', {
  timeout: 90_000,
}, async () => {
  await using here = await project(null);
  await here.write('millrace.config.ts', config);
  const worker = here.start(['work', '--process-lanes', '2']);
  await worker.says(/lanes: 2 \(as asked for\); inline 10/);
  const client = here.client();
  const light = await client.dispatch('light', {});
  const heavies = await client.dispatchMany([1, 2, 3].map(() => ({ job: 'heavy', input: {} })));
  const pids = await Promise.all(heavies.map((heavy) => heavy.result({ timeout: '60s' })));
  expect(pids).not.toContain(await light.result({ timeout: '60s' }));
  await client.dispatch('heavy', { die: true });
  await worker.says(/lane \d: process exited with code 7, restarting in 0\.0 s/);
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  expect(membersOfGroups(pids as number[])).toEqual([]);
});

test('[sqlite] a config whose module fails in a lane says so, and runs inline jobs all the same', {
  timeout: 90_000,
}, async () => {
  await using here = await project(null);
  await here.write(
    'millrace.config.ts',
    `${config}
     if (process.title.startsWith('millrace lane')) throw new Error('not in a lane');`,
  );
  const worker = here.start(['work']);
  await worker.says(/lane 1: process exited with code 1, restarting in .*not in a lane/);
  const light = await here.client().dispatch('light', {});
  expect(await light.result({ timeout: '60s' })).toEqual(expect.any(Number));
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});

test('[sqlite] a lane that spins ends although the supervisor of its worker is killed', {
  timeout: 90_000,
}, async () => {
  await using here = await project(null);
  await here.write(
    'millrace.config.ts',
    `
import { writeFileSync } from 'node:fs';
import { defineConfig, defineJob } from 'millrace';
const spin = defineJob('spin', { lane: 'process', run: ({ input }: { input: { file: string } }) => {
  writeFileSync(input.file, String(process.pid));
  for (;;);
} });
export default defineConfig({ database: 'sqlite:data/test.db?synchronous=NORMAL', jobs: [spin], workerSleep: '200ms', stopTimeout: '500ms', killGrace: '200ms' });
`,
  );
  const file = here.file('pid');
  const worker = here.start(['work']);
  await here.client().dispatch('spin', { file });
  await waitFor(() => existsSync(file) && readFileSync(file, 'utf8') !== '', {
    describe: 'the handler to spin',
    deadlineMs: 60_000,
  });
  const pid = Number(readFileSync(file, 'utf8'));
  expect(membersOfGroups([pid])).toContain(pid);
  worker.child.kill('SIGKILL');
  await waitFor(() => membersOfGroups([pid]).length === 0, {
    describe: 'the lane to end',
    deadlineMs: 60_000,
  });
});
