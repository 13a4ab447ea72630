import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { silentLogger as logger } from '../../../src/internal/logger.js';
import { sweepOwnedFolders } from '../../../src/internal/owned-folder.js';
import type { LaneEnding } from '../../../src/worker/lanes/lane.js';
import { LaneBench } from '../../support/lane-bench.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const parentFile = fileURLToPath(new URL('../../support/lane-parent.mjs', import.meta.url));

function resultOf(ending: LaneEnding): string {
  return JSON.parse((ending as unknown as { settlement: { result: string } }).settlement.result);
}

const isGone = (folder: string): Promise<unknown> =>
  waitFor(() => !existsSync(folder), { describe: `${folder} to be wiped` });

it('each job in a process lane has a folder of its own, wiped when it has ended or its lane has died', async () => {
  await using root = tempDir('lanes');
  const bench = await new LaneBench({ folders: root.path }).started();
  const first = resultOf(await bench.run({ do: 'write-temp' }));
  const second = resultOf(await bench.run({ do: 'write-temp' }));
  expect(first).not.toBe(second);
  expect(dirname(first)).toBe(dirname(second));
  expect(first.startsWith(root.path)).toBe(true);
  await Promise.all([isGone(first), isGone(second)]);
  expect(existsSync(dirname(first))).toBe(true);
  await bench.run({ do: 'write-temp', after: 'abort' });
  await isGone(dirname(first));
  await bench.idle();
  const afterwards = resultOf(await bench.run({ do: 'write-temp' }));
  expect(dirname(afterwards)).not.toBe(dirname(first));
  await bench.lane.stop({ deadlineMs: 5_000 });
  expect(readdirSync(root.path)).toEqual([]);
});

it('the folder of a job that runs is kept while others are wiped', async () => {
  await using root = tempDir('lanes');
  await using bench = await new LaneBench({ folders: root.path, killGraceMs: 100 }).started();
  await bench.run({ do: 'write-temp' });
  const attempt = bench.attempt({ do: 'write-temp', after: 'wait-deaf' });
  const ended = bench.lane.run(attempt);
  const line = await waitFor(() => bench.lines[1]?.text, { describe: 'the second job to write' });
  const folder = line.split(' ')[0] as string;
  await sweepOwnedFolders({ root: root.path, logger });
  expect(existsSync(`${folder}/left-behind`)).toBe(true);
  bench.abort(attempt, 'cancelled');
  await ended;
  await isGone(folder);
});

it('lanes without a place for folders work, say it once, and have them once there is one', async () => {
  await using dir = tempDir('lanes');
  writeFileSync(dir.file('taken'), '');
  await using bench = await new LaneBench({ folders: dir.file('taken') }).started();
  expect(resultOf(await bench.run({ do: 'echo' }))).toEqual({ do: 'echo' });
  await bench.run({ do: 'exit', code: 1 });
  await bench.idle();
  const said = (text: string): number => bench.said.filter((line) => line === text).length;
  expect(said('process lanes have no folders of their own')).toBe(1);
  rmSync(dir.file('taken'));
  const folder = await waitFor(
    async () => {
      const used = resultOf(await bench.run({ do: 'write-temp' }));
      return used.startsWith(dir.path) && used;
    },
    { describe: 'a job to have a folder of its own' },
  );
  await isGone(folder);
  expect(said('process lanes have folders of their own again')).toBe(1);
});

it('what a killed worker left is swept at the next start of any', { timeout: 60_000 }, async () => {
  await using dir = tempDir('lanes');
  mkdirSync(dir.file('tmp'));
  const start = (input: object) =>
    spawn(process.execPath, [parentFile, JSON.stringify({ input })], {
      env: { ...process.env, TMPDIR: dir.file('tmp') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const folders = (): string[] => {
    const [root] = readdirSync(dir.file('tmp')).filter((name) => name.startsWith('millrace-'));
    return root === undefined
      ? []
      : readdirSync(dir.file('tmp', root)).filter((name) => name.startsWith('lanes'));
  };
  const killed = start({ do: 'write-temp', after: 'spin' });
  try {
    let output = '';
    killed.stdout.on('data', (chunk: Buffer) => {
      output += String(chunk);
    });
    await waitFor(() => output.includes('lane '), { describe: 'the job to run', deadlineMs: 30_000 });
    killed.kill('SIGKILL');
    const [left = ''] = folders();
    expect(left).toContain(String(killed.pid));
    const next = start({ do: 'echo' });
    try {
      await waitFor(() => folders().every((name) => name !== left), {
        describe: `${left} to be swept`,
        deadlineMs: 30_000,
      });
    } finally {
      next.kill('SIGKILL');
    }
  } finally {
    killed.kill('SIGKILL');
  }
});
