import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BrowserLaneBench } from '../../support/browser-lane-bench.js';
import { isRunning, membersOfGroups } from '../../support/process-groups.js';
import { waitFor } from '../../support/wait-for.js';

/** Each starts a Chrome or two, which takes seconds where a machine is busy. */
const wait = { timeout: 60_000 };
const forEver = new Promise<never>(() => undefined);

test('a Chrome that is killed costs its own lane and job, and nothing else', wait, async () => {
  await using bench = await new BrowserLaneBench().started();
  await using other = await new BrowserLaneBench().started();
  let end: () => void = () => undefined;
  const mayEnd = new Promise<void>((resolve) => {
    end = resolve;
  });
  const beside = other.run(async ({ cdp }) => {
    await mayEnd;
    return await cdp.send('Runtime.evaluate', { expression: '6 * 7' });
  });
  const died = await bench.run(async ({ cdp }) => {
    process.kill(bench.pid, 'SIGKILL');
    return await cdp.send('Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true });
  });
  expect(died).toMatchObject({ kind: 'died', signal: 'SIGKILL' });
  await bench.idle();
  end();
  expect(await beside).toMatchObject({ kind: 'settled', settlement: { kind: 'completed' } });
  expect(other.lane.snapshot().restarts).toBe(0);
  expect(bench.said.join('\n')).toMatch(/^lane 1: Chrome exited \(.+\), restarting in 0\.0 s$/m);

  // What a handler has done all the same counts.
  const kept = await bench.run(async ({ cdp }) => {
    process.kill(bench.pid, 'SIGKILL');
    await cdp.send('Page.reload').catch(() => undefined);
    return 'kept';
  });
  expect(kept).toMatchObject({ kind: 'settled', settlement: { kind: 'completed', result: '"kept"' } });
  await bench.idle();
});

test('a Chrome that stands still is found by its ping, and its job has died', wait, async () => {
  await using bench = await new BrowserLaneBench({ ping: { everyMs: 100, deadlineMs: 500 } }).started();
  const died = await bench.run(async ({ cdp }) => {
    process.kill(bench.pid, 'SIGSTOP');
    return await cdp.send('Page.reload', undefined, { timeout: '30s' });
  });
  expect(died).toMatchObject({
    kind: 'died',
    reason: expect.stringContaining('did not answer 2 pings in a row'),
  });
  await bench.idle();
});

test('what a page does to its job leaves a clean lane with the same Chrome', wait, async () => {
  await using bench = await new BrowserLaneBench().started();
  await bench.run(() => Promise.resolve());
  const { pid } = bench;

  // Its script never ends, and its handler waits for it.
  let hasBegun = false;
  const spinning = bench.begin(async ({ cdp }) => {
    hasBegun = true;
    await cdp.send('Runtime.evaluate', { expression: 'while (true);' }, { timeout: '30s' });
  });
  await waitFor(() => hasBegun, { describe: 'the job to begin' });
  spinning.attempt.abort('timed-out', 0);
  bench.lane.abort(spinning.attempt);
  expect(await spinning.ending).toMatchObject({ kind: 'settled', settlement: { kind: 'retry' } });

  // It asks, and nobody answers.
  const asked = await bench.run(async ({ cdp }) => {
    const { result } = await cdp.send<{ result: { value: unknown } }>('Runtime.evaluate', {
      expression: 'confirm("go on?")',
    });
    return result.value;
  });
  expect(asked).toMatchObject({ settlement: { result: 'false' } });

  // It crashes.
  const crashed = await bench.run(async ({ tab, cdp }) => {
    cdp.send('Page.crash').catch(() => undefined);
    return await tab.evaluate('new Promise(() => {})');
  });
  expect(crashed).toMatchObject({ kind: 'settled', settlement: { kind: 'retry' } });

  expect(bench.pid).toBe(pid);
  const targets = await bench.run(async ({ tab }) => await tab.evaluate('6 * 7'));
  expect(targets).toMatchObject({ settlement: { result: '42' } });
  expect(bench.lane.snapshot(), bench.said.join('\n')).toMatchObject({
    state: 'idle',
    restarts: 0,
    note: null,
  });
});

test('a page that opens ever more others keeps the first 20', wait, async () => {
  await using bench = await new BrowserLaneBench().started();
  const hasTooMany = (): boolean =>
    bench.said.some((line) => line.includes('its page opened more than 20 others'));
  await bench.run(async ({ cdp }) => {
    const expression = 'void open("about:blank", "_blank")';
    for (let count = 0; count < 40 && !hasTooMany(); count += 1)
      await cdp
        .send('Runtime.evaluate', { expression, userGesture: true }, { timeout: '2s' })
        // A busy machine opens it later.
        .catch(() => undefined);
  });
  expect(hasTooMany()).toBe(true);
  expect(await bench.run(async ({ tab }) => await tab.evaluate('6 * 7'))).toMatchObject({
    settlement: { result: '42' },
  });
  expect(bench.lane.snapshot().restarts).toBe(0);
});

test('a job that is called off while its page is opened leaves its Chrome as it was', wait, async () => {
  await using bench = await new BrowserLaneBench().started();
  const { pid } = bench;
  const early = bench.begin(() => Promise.resolve());
  early.attempt.abort('cancelled', 0);
  expect((await early.ending).kind).not.toBe('died');
  expect(bench.lane.snapshot()).toMatchObject({ state: 'idle', pid, restarts: 0 });
  expect(await bench.run(() => Promise.resolve(1))).toMatchObject({ settlement: { kind: 'completed' } });
});

test('a handler that goes on after its end loses its Chrome, and the lane is well again', wait, async () => {
  await using bench = await new BrowserLaneBench().started();
  let hasBegun = false;
  const stubborn = bench.begin(() => {
    hasBegun = true;
    return forEver;
  });
  await waitFor(() => hasBegun, { describe: 'the job to begin' });
  stubborn.attempt.abort('cancelled', 0);
  bench.lane.abort(stubborn.attempt);
  expect(await stubborn.ending).toMatchObject({ kind: 'died', reason: expect.stringContaining('went on') });
  await bench.idle();
});

test('a Chrome is replaced after its jobs, and nothing of it is left', wait, async () => {
  const bench = await new BrowserLaneBench({ drawLimits: () => ({ jobs: 5, ageMs: 60_000 }) }).started();
  const first = bench.pid;
  for (let count = 0; count < 5; count += 1) await bench.run(() => Promise.resolve());
  await waitFor(() => bench.pid > 0 && bench.pid !== first, { describe: 'another Chrome' });
  await bench.idle();
  expect(membersOfGroups([first])).toEqual([]);
  expect(bench.lane.snapshot()).toMatchObject({ restarts: 1, jobsDone: 5, note: null });
  const folders = (): string[] =>
    readdirSync(bench.root.path, { recursive: true })
      .map(String)
      .filter((name) => /lane-1-\d+$/.test(name));
  await waitFor(() => folders().length === 1, { describe: () => `one folder, not ${folders().join(', ')}` });
  const last = bench.pid;
  await bench.lane.stop({ deadlineMs: 5_000 });
  expect(isRunning(last)).toBe(false);
  await waitFor(() => readdirSync(bench.root.path).length === 0, { describe: 'its folders to be gone' });
  await bench[Symbol.asyncDispose]();
});
