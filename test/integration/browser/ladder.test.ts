import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { BrowserMembers } from '../../../src/client/browser-job.js';
import { pageTimes } from '../../../src/core/browser-lane-rules.js';
import type { LaneEnding } from '../../../src/worker/lanes/lane.js';
import { BrowserLaneBench } from '../../support/browser-lane-bench.js';
import { chromes } from '../../support/chrome.js';
import { membersOfGroups } from '../../support/process-groups.js';
import { waitFor } from '../../support/wait-for.js';

/** Each starts a Chrome or two, which takes seconds where a machine is busy. */
const wait = { timeout: 90_000 };
const megabyte = 1024 ** 2;
/** As in production, only sooner; only where it is what a test is about: a busy machine is slow to answer as well. */
const soon = {
  ping: { everyMs: 200, deadlineMs: 1_000 },
  page: { everyMs: 200, busyMs: 1_000, deadMs: 2_000, dialogMs: 1_000 },
} as const;
const stuck = async ({ tab }: BrowserMembers): Promise<unknown> =>
  await tab.evaluate('new Promise(() => {})');

/** The processes of a Chrome that run pages. */
function renderersOf(chrome: number): number[] {
  return membersOfGroups([chrome]).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer');
    } catch {
      // It ended while it was read.
      return false;
    }
  });
}

/** A lane with a job that goes on all the while, in a Chrome beside the one that something happens to. */
async function besides(
  chrome: (typeof chromes)[number],
): Promise<AsyncDisposable & { unnoticed(): Promise<void> }> {
  const bench = await new BrowserLaneBench({ chrome }).started();
  const { pid } = bench;
  let isOver = false;
  const ending = bench.run(async ({ tab }) => {
    let turns = 0;
    while (!isOver) turns += await tab.evaluate<number>('new Promise((then) => setTimeout(then, 20, 1))');
    return turns > 0;
  });
  return {
    async unnoticed() {
      isOver = true;
      expect(await ending).toMatchObject({ kind: 'settled', settlement: { result: 'true' } });
      expect(bench.lane.snapshot()).toMatchObject({ pid, restarts: 0, note: null, state: 'idle' });
      expect(bench.steps).toEqual([]);
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await bench[Symbol.asyncDispose]();
    },
  };
}

async function timed(run: Promise<LaneEnding>): Promise<{ ending: LaneEnding; tookMs: number }> {
  const startedAtMs = performance.now();
  const ending = await run;
  return { ending, tookMs: performance.now() - startedAtMs };
}

const stepsOf = ({ steps }: BrowserLaneBench): string[] => steps.map(({ step }) => step);

describe.each(chromes)('a browser lane, $name:', (chrome) => {
  test(
    'a Chrome that stands still is found by its pings, killed and replaced; beside it nothing is noticed',
    wait,
    async () => {
      await using other = await besides(chrome);
      await using bench = await new BrowserLaneBench({ ping: soon.ping, chrome }).started();
      const { pid } = bench;
      const { ending, tookMs } = await timed(
        bench.run(async (members) => {
          process.kill(pid, 'SIGSTOP');
          return await stuck(members);
        }),
      );
      expect(ending).toMatchObject({
        kind: 'died',
        reason: expect.stringContaining('did not answer 2 pings'),
      });
      // A wait and two deadlines, and what a busy machine adds.
      expect(tookMs).toBeLessThan(8_000);
      await bench.idle();
      expect(stepsOf(bench)).toEqual(['restart']);
      expect(membersOfGroups([pid])).toEqual([]);
      await other.unnoticed();
    },
  );

  test(
    'a page whose process stands still is ended alone; its Chrome and other lanes go on',
    wait,
    async () => {
      await using other = await besides(chrome);
      await using bench = await new BrowserLaneBench({ pageTimes: soon.page, chrome }).started();
      const { pid } = bench;
      const { ending, tookMs } = await timed(
        bench.run(async (members) => {
          for (const renderer of renderersOf(pid)) process.kill(renderer, 'SIGSTOP');
          return await stuck(members);
        }),
      );
      expect(ending).toMatchObject({ kind: 'settled', settlement: { kind: 'retry' } });
      expect(JSON.stringify(ending)).toContain('crashed');
      expect(tookMs).toBeLessThan(10_000);
      expect(stepsOf(bench)).toEqual(['kill-pages', 'dispose-context']);
      expect(bench.steps[0]).toMatchObject({
        kind: 'browser',
        lane: 1,
        helped: true,
        reason: 'its page no longer answered and was ended',
        jobId: expect.any(String),
        tookMs: expect.any(Number),
      });
      expect(bench.said).toContainEqual(expect.stringMatching(/^lane 1: kill-pages \(.+\) took /));
      expect(bench.lane.snapshot()).toMatchObject({ pid, restarts: 0, state: 'idle' });
      expect(await bench.run(({ tab }) => tab.evaluate('6 * 7'))).toMatchObject({
        settlement: { result: '42' },
      });
      await other.unnoticed();
    },
  );

  test(
    'a page whose process is killed costs its attempt, and the second crash its Chrome',
    wait,
    async () => {
      await using other = await besides(chrome);
      await using bench = await new BrowserLaneBench({ chrome }).started();
      const { pid } = bench;
      const crash = (): Promise<LaneEnding> =>
        bench.run(async (members) => {
          for (const renderer of renderersOf(pid)) process.kill(renderer, 'SIGKILL');
          return await stuck(members);
        });
      const first = await timed(crash());
      expect(first.ending).toMatchObject({ kind: 'settled', settlement: { kind: 'retry' } });
      expect(first.tookMs).toBeLessThan(5_000);
      expect(bench.lane.snapshot()).toMatchObject({ pid, restarts: 0 });
      expect(await crash()).toMatchObject({ kind: 'settled', settlement: { kind: 'retry' } });
      await waitFor(() => bench.pid > 0 && bench.pid !== pid, { describe: 'another Chrome' });
      await bench.idle();
      expect(stepsOf(bench)).toEqual(['dispose-context', 'dispose-context', 'restart']);
      await other.unnoticed();
    },
  );

  test('a page that spins is called busy in time, and stopped with its job', wait, async () => {
    await using bench = await new BrowserLaneBench({
      pageTimes: { ...soon.page, deadMs: 10_000 },
      chrome,
    }).started();
    const { pid } = bench;
    const spinning = bench.begin(({ tab }) => tab.evaluate('while (true);', { timeout: '60s' }));
    await waitFor(() => bench.lane.snapshot().note === 'its page is busy', { describe: 'a note' });
    spinning.attempt.abort('timed-out', 0);
    bench.lane.abort(spinning.attempt);
    const { tookMs } = await timed(spinning.ending);
    expect(tookMs).toBeLessThan(5_000);
    await waitFor(() => stepsOf(bench).includes('dispose-context'), { describe: 'its context to be gone' });
    expect(bench.pid).toBe(pid);
    expect(bench.lane.snapshot()).toMatchObject({ state: 'idle', restarts: 0, note: null });
  });

  test('a page that eats memory is ended alone, and the next job finds a small Chrome', wait, async () => {
    await using other = await besides(chrome);
    await using bench = await new BrowserLaneBench({
      chrome,
      memoryLimits: {
        rendererBytes: 400 * megabyte,
        chromeBytes: 2_000 * megabyte,
        growthBytesPerSecond: 2_000 * megabyte,
      },
    }).started();
    const { pid } = bench;
    const { ending } = await timed(
      bench.run(({ tab }) =>
        tab.evaluate(
          'window.waiting = new Promise(() => { window.kept = []; setInterval(() => kept.push(new Uint8Array(2e7).fill(1)), 100); })',
          { timeout: '60s' },
        ),
      ),
    );
    expect(ending).toMatchObject({ kind: 'settled', settlement: { kind: 'retry' } });
    expect(bench.steps[0]).toMatchObject({
      step: 'kill-pages',
      reason: expect.stringMatching(/its page was ended: it used \d+ MB of memory/),
    });
    expect(bench.pid).toBe(pid);
    const usage = await bench.run(({ tab }) => tab.evaluate('6 * 7'));
    expect(usage).toMatchObject({ settlement: { result: '42' } });
    await other.unnoticed();
  });

  test('a page that keeps asking, and asks to stay, holds up nobody', wait, async () => {
    await using bench = await new BrowserLaneBench({
      pageTimes: { ...pageTimes, dialogMs: 200 },
      chrome,
    }).started();
    const { pid } = bench;
    const { ending, tookMs } = await timed(
      bench.run(async ({ tab, cdp }) => {
        await cdp.send('Runtime.evaluate', {
          expression: 'onbeforeunload = (event) => { event.preventDefault(); return "stay"; }; 1',
          userGesture: true,
        });
        const asked = await tab.evaluate<number>(
          '(() => { let asked = 0; for (; asked < 30; asked += 1) alert(asked); return asked; })()',
          { timeout: '30s' },
        );
        await tab.goto('data:text/html,<title>Left</title>');
        return [asked, await tab.title()];
      }),
    );
    expect(ending).toMatchObject({ settlement: { kind: 'completed', result: '[30,"Left"]' } });
    // Ten are the handler's to answer, for a fifth of a second each.
    expect(tookMs).toBeLessThan(15_000);
    expect(bench.lane.snapshot()).toMatchObject({ pid, restarts: 0, state: 'idle' });
  });

  test('a Chrome that ends again and again puts its lane in quarantine, until it is well', wait, async () => {
    await using other = await besides(chrome);
    await using bench = await new BrowserLaneBench({ chrome }).started();
    const killed = new Set<number>();
    const isLost = (): boolean => bench.lane.state === 'quarantined';
    for (let count = 0; count < 3; count += 1) {
      await waitFor(() => bench.pid > 0 && !killed.has(bench.pid), { describe: 'another Chrome' });
      expect(isLost()).toBe(false);
      killed.add(bench.pid);
      process.kill(bench.pid, 'SIGKILL');
    }
    await waitFor(isLost, { describe: 'quarantine' });
    expect(stepsOf(bench)).toEqual(['restart', 'restart', 'quarantine']);
    expect(bench.lane.snapshot().note).toMatch(/3 times in a row/);
    expect(await bench.run(() => Promise.resolve())).toMatchObject({ kind: 'refused' });
    await bench.idle();
    expect(bench.said).toContain('lane 1: well again');
    expect(bench.lane.snapshot().note).toBeNull();
    expect(membersOfGroups(killed)).toEqual([]);
    await other.unnoticed();
  });
});
