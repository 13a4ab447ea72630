import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LaneBench, type LaneBenchOptions } from '../../support/lane-bench.js';
import { membersOfGroups } from '../../support/process-groups.js';
import { tempDir } from '../../support/temp.js';
import { waitFor } from '../../support/wait-for.js';

const index = pathToFileURL(fileURLToPath(new URL('../../../dist/index.js', import.meta.url))).href;

/** A module that misbehaves while `ill` is there, and counts its loads. */
function openStage(misbehaviour: string, options: LaneBenchOptions = {}) {
  const dir = tempDir('misstarts');
  const ill = dir.file('ill');
  const loads = dir.file('loads');
  const module = dir.file('module.mjs');
  writeFileSync(ill, '');
  writeFileSync(loads, '');
  writeFileSync(
    module,
    `import { appendFileSync, existsSync } from 'node:fs';
     import { defineJob, Millrace } from '${index}';
     appendFileSync(${JSON.stringify(loads)}, 'x');
     if (existsSync(${JSON.stringify(ill)})) { ${misbehaviour} }
     const act = defineJob('act', { lane: 'process', run: ({ input }) => input });
     export const millrace = new Millrace({ database: 'memory:', jobs: [act] });
    `,
  );
  const bench = new LaneBench({ module: pathToFileURL(module).href, ...options });
  return {
    bench,
    loads: () => readFileSync(loads, 'utf8').length,
    heal: () => rmSync(ill),
    isIll: () => existsSync(ill),
    async [Symbol.asyncDispose]() {
      await bench[Symbol.asyncDispose]();
      expect(membersOfGroups(bench.pids)).toEqual([]);
      await dir[Symbol.asyncDispose]();
    },
  };
}

describe('a process lane whose child does not come up', () => {
  it.each([
    ['an error', `throw new Error('no disk today')`, /exited with code 1 .*it wrote: .*no disk today/s],
    ['its own exit', `console.error('gone'); process.exit(9)`, /exited with code 9 .*it wrote: gone/s],
    ['a crash', 'process.abort()', /was ended by SIGABRT/],
    ['a loop without end', 'for (;;);', /had not loaded its module within 5s/],
    [
      'a wait without end',
      'await new Promise(() => setInterval(() => {}, 1000))',
      /had not loaded its module within 5s/,
    ],
  ])(
    'for %s is quarantined, says why, and works again once it is well',
    { timeout: 90_000 },
    async (_, text, why) => {
      await using stage = openStage(
        text,
        why.source.includes('within') ? { deadlines: { startMs: 5_000 } } : {},
      );
      const { bench } = stage;
      await bench.lane.start();
      expect(bench.lane.state).toBe('quarantined');
      // One that is killed for its time may not have come as far as its module.
      expect(stage.loads()).toBeLessThanOrEqual(3);
      expect(bench.lane.snapshot().note).toMatch(why);
      expect(bench.said.filter((line) => line.includes('restarting in'))).toHaveLength(2);
      expect(bench.said.at(-1)).toMatch(
        /^lane 1: process .*, takes no work until it is well, tried again in 0\.5 s$/,
      );
      expect(await bench.run({})).toEqual({ kind: 'refused', reason: 'lane 1 is quarantined' });
      stage.heal();
      await waitFor(() => bench.lane.state === 'idle', {
        describe: 'the lane to be well',
        deadlineMs: 60_000,
      });
      expect(bench.lane.snapshot()).toMatchObject({ note: null });
      expect(bench.said).toContain('lane 1: well again');
      expect(await bench.run({ n: 1 })).toMatchObject({ kind: 'settled', settlement: { result: '{"n":1}' } });
    },
  );

  it('for jobs that its module has no code for says which', { timeout: 60_000 }, async () => {
    await using stage = openStage('', { names: ['act', 'resize'] });
    await stage.bench.lane.start();
    expect(stage.bench.lane.snapshot()).toMatchObject({
      state: 'quarantined',
      note: expect.stringMatching(
        /it has no code for "resize"\. Pass the worker the module that makes its client/,
      ),
    });
  });

  it('for a package that was replaced under it says so', { timeout: 60_000 }, async () => {
    await using stage = openStage('', { version: '0.0.1' });
    await stage.bench.lane.start();
    expect(stage.bench.lane.snapshot().note).toMatch(/the worker runs millrace 0\.0\.1.*Restart the worker/s);
  });
});

describe('a process lane whose child dies by itself', () => {
  it('is started again after a wait, and at once after it had run a job', { timeout: 60_000 }, async () => {
    await using stage = openStage('setTimeout(() => process.exit(4), 50)');
    const { bench } = stage;
    await bench.lane.start();
    await waitFor(() => bench.said.some((line) => line.includes('exited with code 4, restarting in 0.5 s')), {
      describe: 'the death to be told',
    });
    stage.heal();
    await bench.idle();
    expect(await bench.run({})).toMatchObject({ kind: 'settled' });
  });
});
