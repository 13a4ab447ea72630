import { describe, expect, it } from 'vitest';
import type { LaneEnding } from '../../../src/worker/lanes/lane.js';
import { LaneBench } from '../../support/lane-bench.js';
import { isRunning, membersOfGroups } from '../../support/process-groups.js';
import { waitFor } from '../../support/wait-for.js';

const megabyte = 1024 ** 2;

function settlementOf(ending: LaneEnding) {
  if (ending.kind !== 'settled') throw new Error(`expected a settlement, got ${JSON.stringify(ending)}`);
  return ending.settlement;
}

describe('a process lane', () => {
  it('runs job after job in one child, and says what each used', async () => {
    await using bench = await new LaneBench().started();
    const first = await bench.run({ do: 'pid' });
    const second = await bench.run({ do: 'pid' });
    expect(settlementOf(second)).toMatchObject({
      kind: 'completed',
      result: (settlementOf(first) as { result: string }).result,
    });
    const burnt = await bench.run({ do: 'burn', ms: 300 });
    expect(burnt).toMatchObject({ kind: 'settled' });
    const { usage } = burnt as Extract<LaneEnding, { kind: 'settled' }>;
    expect(usage?.cpuMs).toBeGreaterThan(30);
    const taken = await bench.run({ do: 'take-memory', megabytes: 150 });
    const small = await bench.run({ do: 'echo' });
    const peakOf = (ending: LaneEnding): number =>
      ending.kind === 'settled' ? (ending.usage?.peakRssBytes ?? 0) : 0;
    expect(peakOf(taken)).toBeGreaterThan(150 * megabyte);
    expect(peakOf(small)).toBeGreaterThan(0);
    expect(bench.lane.snapshot()).toMatchObject({
      state: 'idle',
      jobsDone: 5,
      restarts: 0,
      job: null,
      note: null,
    });
  });

  it('ends attempts as an inline worker does', async () => {
    await using bench = await new LaneBench().started();
    expect(settlementOf(await bench.run({ do: 'echo', value: ['é', null] }))).toMatchObject({
      kind: 'completed',
      result: JSON.stringify({ do: 'echo', value: ['é', null] }),
    });
    const failed = settlementOf(await bench.run({ do: 'throw' }));
    expect(failed).toMatchObject({ kind: 'retry' });
    expect(JSON.parse((failed as { errors: string }).errors)).toMatchObject([
      { attempt: 1, kind: 'failed', worker: 'w-test', error: { message: 'as asked' } },
    ]);
    expect(settlementOf(await bench.run({ do: 'throw' }, { attempts: 2 }))).toMatchObject({ kind: 'buried' });
    expect(settlementOf(await bench.run({ do: 'throw-for-good' }))).toMatchObject({
      reason: 'non-retriable',
    });
    expect(settlementOf(await bench.run({ do: 'snooze' }))).toMatchObject({
      kind: 'snoozed',
      delayMs: 300_000,
    });
    expect(settlementOf(await bench.run({ do: 'cancel' }))).toMatchObject({
      kind: 'cancelled',
      reason: 'as asked',
    });
    expect(settlementOf(await bench.run({ do: 'echo' }, { version: 7 }))).toMatchObject({ kind: 'put-back' });
    expect(bench.lane.snapshot()).toMatchObject({ restarts: 0 });
  });

  it('takes inputs of 1 MB and gives back results of 1 MB, cut beyond', async () => {
    await using bench = await new LaneBench().started();
    const text = '"\\é'.repeat(megabyte / 8).slice(0, 250_000);
    const echoed = settlementOf(await bench.run({ do: 'echo', text })) as { result: string };
    expect(JSON.parse(echoed.result)).toEqual({ do: 'echo', text });
    const whole = settlementOf(await bench.run({ do: 'big', bytes: megabyte - 2 })) as { result: string };
    expect(whole.result).toHaveLength(megabyte);
    const cut = settlementOf(await bench.run({ do: 'big', bytes: 3 * megabyte })) as { result: string };
    expect(JSON.parse(cut.result)).toMatchObject({ $truncated: true, bytes: 3 * megabyte + 2 });
  });

  it('gives handlers the log, progress, heartbeat and dispatch of the worker', async () => {
    await using bench = await new LaneBench().started();
    const attempt = bench.attempt({ do: 'log', text: 'from the child' });
    await bench.lane.run(attempt);
    const { id, token } = attempt.job;
    expect(attempt.hasLogged).toBe(true);
    expect(bench.lines).toEqual([
      { id, token, seq: 1, kind: 'log', level: 'info', text: 'from the child {"n":1,"big":"2"}' },
      { id, token, seq: 2, kind: 'progress', level: 'info', text: '{"done":1,"total":2,"note":"half"}' },
      { id, token, seq: 3, kind: 'progress', level: 'info', text: '{"done":2,"total":2,"note":"whole"}' },
    ]);
    expect(bench.said).toContain('from the child');
    expect(settlementOf(await bench.run({ do: 'heartbeat' }))).toMatchObject({ result: 'true' });
    bench.isHeld = false;
    expect(settlementOf(await bench.run({ do: 'heartbeat' }))).toMatchObject({ result: 'false' });
    const dispatched = settlementOf(
      await bench.run({ do: 'dispatch', input: { do: 'echo' }, options: { priority: 'high' } }),
    ) as { result: string };
    expect(bench.enqueued).toMatchObject([
      { id: JSON.parse(dispatched.result), name: 'act', payload: '{"do":"echo"}', priority: 10 },
    ]);
  });

  it.each([
    ['abort', { do: 'abort' }, /SIGABRT/],
    ['a segmentation fault', { do: 'segfault' }, /SIGSEGV/],
    ['process.exit', { do: 'exit', code: 0 }, /code 0/],
    ['an unhandled rejection', { do: 'reject-unseen' }, /code 1/],
    ['a full heap', { do: 'leak-heap' }, /ran out of heap|more than MILLRACE_LANE_MAX_MEMORY/],
    ['memory outside of the heap', { do: 'leak-buffers' }, /more than MILLRACE_LANE_MAX_MEMORY of 200 MB/],
  ])(
    'that dies of %s under a job is replaced at once',
    async (_, input, reason) => {
      await using bench = await new LaneBench({ maxMemoryBytes: 200 * megabyte }).started();
      const pid = bench.lane.snapshot().pid;
      const ending = await bench.run(input);
      expect(ending).toMatchObject({ kind: 'died', reason: expect.stringMatching(reason) });
      await bench.idle();
      expect(bench.lane.snapshot().pid).not.toBe(pid);
      expect(settlementOf(await bench.run({ do: 'echo' }))).toMatchObject({ kind: 'completed' });
      expect(membersOfGroups([pid as number])).toEqual([]);
    },
    60_000,
  );

  it('says the end of what a dying child wrote, printable and bounded', async () => {
    await using bench = await new LaneBench().started();
    const ending = await bench.run({
      do: 'write-stderr',
      text: `${'x'.repeat(100_000)}\nlast \u001b[31mwords\n`,
    });
    expect(ending).toMatchObject({ kind: 'died', exitCode: 3, signal: null });
    const { tail } = ending as { tail: string };
    expect(tail).toMatch(/last \\u\{1b\}\[31mwords$/);
    expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(2048);
    expect(Buffer.concat(bench.stderr).length).toBeGreaterThan(100_000);
  });

  it('fires the signal of an aborted attempt, and goes on with the same child when that heeds it', async () => {
    await using bench = await new LaneBench({ killGraceMs: 60_000 }).started();
    const { pid } = bench.lane.snapshot();
    const attempt = bench.attempt({ do: 'wait' });
    const ended = bench.lane.run(attempt);
    bench.abort(attempt, 'timed-out');
    const settlement = settlementOf(await ended);
    expect(settlement).toMatchObject({ kind: 'retry' });
    expect((settlement as { errors: string }).errors).toContain('longer than its timeout of');
    expect(bench.lane.snapshot()).toMatchObject({ state: 'idle', pid });
    const lost = bench.attempt({ do: 'wait' });
    const lostEnding = bench.lane.run(lost);
    bench.abort(lost, 'lease-lost');
    expect(settlementOf(await lostEnding)).toBeNull();
  });

  it.each(['spin', 'wait-deaf'])('kills after the grace what ignores its signal: %s', async (act) => {
    await using bench = await new LaneBench({ killGraceMs: 100 }).started();
    const { pid } = bench.lane.snapshot();
    const attempt = bench.attempt({ do: act });
    const ended = bench.lane.run(attempt);
    bench.abort(attempt, 'cancelled');
    expect(await ended).toMatchObject({
      kind: 'died',
      signal: 'SIGKILL',
      reason: 'went on for 100ms after its signal (cancelled)',
    });
    await bench.idle();
    expect(bench.lane.snapshot().pid).not.toBe(pid);
  });

  it('ends with its child what a job left behind in its group', async () => {
    await using bench = await new LaneBench().started();
    const settled = settlementOf(await bench.run({ do: 'leave-process' })) as { result: string };
    const left = Number(settled.result);
    expect(isRunning(left)).toBe(true);
    await bench.run({ do: 'exit', code: 5 });
    await waitFor(() => !isRunning(left), { describe: 'what the job had left behind to end' });
  });

  it('refuses a job that its child does not take up, and charges nothing', async () => {
    await using bench = await new LaneBench({ deadlines: { takeUpMs: 500 } }).started();
    expect(settlementOf(await bench.run({ do: 'leave-spinner' }))).toMatchObject({ result: '"left"' });
    const ending = await bench.run({ do: 'echo' });
    // The spinner may begin only after the job was taken up; then that job is what the lane dies under.
    if (ending.kind === 'settled') {
      expect(await bench.run({ do: 'echo' })).toMatchObject({ kind: 'refused' });
    } else
      expect(ending).toMatchObject({
        kind: 'refused',
        reason: expect.stringContaining('did not take up a job'),
      });
    await bench.idle();
    expect(settlementOf(await bench.run({ do: 'echo' }))).toMatchObject({ kind: 'completed' });
  });

  it('takes no second job while it runs one', async () => {
    await using bench = await new LaneBench().started();
    const attempt = bench.attempt({ do: 'wait' });
    const ended = bench.lane.run(attempt);
    expect(bench.lane.state).toBe('busy');
    expect(await bench.run({ do: 'echo' })).toMatchObject({ kind: 'refused', reason: 'lane 1 is busy' });
    bench.abort(attempt, 'stopping');
    expect(settlementOf(await ended)).toMatchObject({ kind: 'put-back' });
  });

  it('stops idle, busy and starting, and leaves nothing', async () => {
    const idle = await new LaneBench().started();
    const busy = await new LaneBench().started();
    const starting = new LaneBench();
    void starting.lane.start();
    const ended = busy.run({ do: 'spin' });
    await waitFor(() => busy.lines.length === 1, { describe: 'the handler to spin' });
    await Promise.all([idle, busy, starting].map(({ lane }) => lane.stop({ deadlineMs: 5_000 })));
    expect(await ended).toMatchObject({ kind: 'died', reason: 'the worker stops' });
    for (const bench of [idle, busy, starting]) {
      expect(bench.lane.state).toBe('stopped');
      expect(membersOfGroups(bench.pids)).toEqual([]);
    }
    await idle.lane.start();
    expect(idle.lane.state).toBe('stopped');
  });
});
