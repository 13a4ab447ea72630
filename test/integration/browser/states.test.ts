import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LaneState } from '../../../src/worker/lanes/lane.js';
import { LaneGroup } from '../../../src/worker/lanes/lane-group.js';
import { BrowserLaneBench } from '../../support/browser-lane-bench.js';
import { testSeed } from '../../support/test-seed.js';
import { waitFor } from '../../support/wait-for.js';

const states: readonly LaneState[] = [
  'starting',
  'idle',
  'busy',
  'shut',
  'quarantined',
  'stopping',
  'stopped',
];
const deeds = ['run', 'run and die', 'run and abort', 'kill', 'renew', 'shut', 'open'] as const;

test('whatever happens to lanes, each is in one state, and what runs is busy', {
  timeout: 180_000,
}, async () => {
  const benches = [new BrowserLaneBench({ number: 1 }), new BrowserLaneBench({ number: 2 })];
  const group = new LaneGroup(
    'browser',
    benches.map(({ lane }) => lane),
  );
  const faults: string[] = [];
  let looks = 0;
  const look = (): void => {
    looks += 1;
    const snapshots = group.snapshots();
    const count = (state: LaneState): number => snapshots.filter((each) => each.state === state).length;
    const sum = states.reduce((total, state) => total + count(state), 0);
    const say = (fault: string): void => void faults.push(`${fault}: ${JSON.stringify(snapshots)}`);
    if (sum !== benches.length) say(`${sum} states of ${benches.length} lanes`);
    for (const { job, state } of snapshots)
      if (job !== null && state !== 'busy' && state !== 'stopping' && state !== 'starting')
        say('runs, and is not busy');
    if (snapshots.some(({ job, state }) => state === 'busy' && job === null)) say('busy with nothing');
    if (group.free > count('idle') || group.size !== count('idle') + count('busy'))
      say('gives out what is not free');
  };
  for (const bench of benches) bench.onChange = look;
  try {
    await group.start();
    const deed = fc.tuple(fc.constantFrom(...deeds), fc.constantFrom(0, 1), fc.boolean());
    const [plan] = fc.sample(fc.array(deed, { minLength: 40, maxLength: 40 }), {
      numRuns: 1,
      seed: testSeed(),
    });
    for (const [what, which, isPatient] of plan ?? []) {
      const bench = benches[which] as BrowserLaneBench;
      if (isPatient)
        await waitFor(() => bench.lane.state !== 'starting', { describe: 'a lane to have started' });
      await act(bench, what);
      look();
    }
    for (const bench of benches) {
      bench.lane.shut(null);
      await bench.idle();
      expect(await bench.run(({ tab }) => tab.evaluate('6 * 7'))).toMatchObject({
        settlement: { result: '42' },
      });
    }
    expect(faults).toEqual([]);
    expect(looks).toBeGreaterThan(40);
  } finally {
    await group.stop({ deadlineMs: 5_000 });
    look();
    for (const bench of benches) await bench[Symbol.asyncDispose]();
  }
  expect(group.snapshots().map(({ state }) => state)).toEqual(['stopped', 'stopped']);
});

/** One that a lane in its state is not for is refused, and that is an answer as well. */
async function act(bench: BrowserLaneBench, what: (typeof deeds)[number]): Promise<void> {
  const { pid, lane } = bench;
  const mayRun = lane.state === 'idle';
  switch (what) {
    case 'run': {
      const ending = await bench.run(({ tab }) => tab.evaluate('6 * 7'));
      if (!mayRun) expect(ending.kind).toBe('refused');
      break;
    }
    case 'run and die':
      await bench.run(async ({ tab }) => {
        process.kill(bench.pid, 'SIGKILL');
        return await tab.evaluate('new Promise(() => {})');
      });
      break;
    case 'run and abort': {
      let hasBegun = false;
      const { attempt, ending } = bench.begin(async ({ tab }) => {
        hasBegun = true;
        return await tab.evaluate('new Promise(() => {})');
      });
      let isOver = false;
      void ending.then(() => {
        isOver = true;
      });
      await waitFor(() => hasBegun || isOver, { describe: 'a job to begin or be refused' });
      attempt.abort('cancelled', 0);
      lane.abort(attempt);
      await ending;
      break;
    }
    case 'kill':
      if (pid > 0) process.kill(pid, 'SIGKILL');
      await waitFor(() => bench.pid !== pid || pid < 0, { describe: 'that Chrome to be gone' });
      break;
    case 'renew':
      lane.renew('is asked to by a test');
      break;
    case 'shut':
      lane.shut('a test says so');
      break;
    case 'open':
      lane.shut(null);
  }
}
