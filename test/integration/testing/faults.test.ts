import { describe, expect, test } from 'vitest';
import { defineJob, isMillraceError, type JobContext } from '../../../src/index.js';
import { createTestKit } from '../../../src/testing/index.js';

const runs: number[] = [];
const count = defineJob('count', {
  run({ input }: JobContext<{ by: number }>) {
    runs.push(input.by);
    return input.by;
  },
});
const open = () => {
  runs.length = 0;
  return createTestKit({ jobs: [count] });
};

describe('faults made by a test kit [memory]', () => {
  test('the next dispatch fails as if the database had been away, the one after it does not', async () => {
    await using kit = await open();
    kit.failNext('dispatch');
    await expect(kit.millrace.dispatch(count, { by: 1 })).rejects.toSatisfy(
      (error) => isMillraceError(error) && error.code === 'deadline-exceeded' && error.retryable,
    );
    expect(kit.dispatched(count)).toEqual([]);
    await kit.millrace.dispatch(count, { by: 2 });
    expect((await kit.runUntilIdle()).completed).toBe(1);
  });

  test('an error of one’s own, also for a bulk dispatch and in a handler', async () => {
    const parent = defineJob('parent', {
      async run({ dispatch }) {
        await dispatch(count, { by: 1 });
      },
    });
    await using kit = await createTestKit({ jobs: [parent, count] });
    kit.failNext('dispatch', new Error('no room'));
    await expect(kit.millrace.dispatchMany([{ job: count, input: { by: 1 } }])).rejects.toThrow('no room');
    await kit.millrace.dispatch(parent, {});
    kit.failNext('dispatch', new Error('no room'));
    const report = await kit.runUntilIdle();
    expect(report.runs).toMatchObject([{ outcome: 'retrying', failure: { message: 'no room' } }]);
  });

  test('a dispatch that was written and not confirmed makes one job', async () => {
    await using kit = await open();
    kit.failStorage('enqueue', 'after');
    const handle = await kit.millrace.dispatch(count, { by: 1 });
    expect(handle.deduplicated).toBe(false);
    expect(kit.dispatched(count)).toHaveLength(1);
  });

  test.each(['before', 'after'] as const)(
    'results that get lost %s the commit are settled once',
    async (fault) => {
      await using kit = await open();
      for (const by of [1, 2, 3]) await kit.millrace.dispatch(count, { by });
      const states: string[] = [];
      kit.millrace.on('worker:state', ({ state }) => states.push(state));
      kit.failStorage('claim', fault);
      kit.failStorage('settle', [fault, fault]);
      kit.failStorage('exchange', [fault, fault]);
      const report = await kit.runUntilIdle();
      expect(report.completed).toBe(3);
      expect(states).toContain('RECONNECTING');
      expect(runs).toEqual([1, 2, 3]);
      expect((await kit.storage.stats('default'))[0]?.completed).toBe(3);
    },
  );

  test('only what there is can fail', async () => {
    await using kit = await open();
    expect(() => kit.failNext('settle' as 'dispatch')).toThrow(/failStorage.*got "settle"/);
    expect(() => kit.failStorage('setle' as 'settle', 'before')).toThrow(/setle/);
  });
});
