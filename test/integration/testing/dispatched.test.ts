import { AssertionError } from 'node:assert';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineJob, type JobContext } from '../../../src/index.js';
import { createTestKit } from '../../../src/testing/index.js';

const mail = defineJob('mail', {
  input: z.object({ to: z.string(), due: z.coerce.date().optional(), tags: z.array(z.string()).default([]) }),
  queue: 'mails',
  run: () => undefined,
});
const count = defineJob('count', { run: ({ input }: JobContext<{ by: number }>) => input.by });

const open = () => createTestKit({ jobs: [mail, count], now: '2030-01-01T00:00:00Z' });

const thrownBy = (call: () => unknown): AssertionError => {
  try {
    call();
  } catch (error) {
    if (error instanceof AssertionError) return error;
    throw error;
  }
  throw new Error('expected an AssertionError, nothing was thrown');
};

describe('what was dispatched in a test kit [memory]', () => {
  test('dispatches are listed by job, oldest first, as they were made', async () => {
    await using kit = await open();
    await kit.millrace.dispatch(mail, { to: 'a' }, { delay: '1h', priority: 'high' });
    await kit.millrace.dispatch(count, { by: 1 });
    const first = await kit.millrace.dispatch(mail, { to: 'b' });
    await kit.millrace.dispatch(count, { by: 2 }, { after: first });
    expect(kit.dispatched().map(({ name }) => name)).toEqual(['mail', 'count', 'mail', 'count']);
    expect(kit.dispatched(mail)).toMatchObject([
      {
        input: { to: 'a' },
        queue: 'mails',
        priority: 10,
        dispatchedAt: new Date('2030-01-01T00:00:00Z'),
        dueAt: new Date('2030-01-01T01:00:00Z'),
      },
      { id: first.id, input: { to: 'b' } },
    ]);
    expect(kit.dispatched('count')[1]?.after).toEqual([first.id]);
  });

  test('part of an input, or a function, says which', async () => {
    await using kit = await open();
    const due = new Date('2030-01-05T00:00:00Z');
    await kit.millrace.dispatch(mail, { to: 'a', tags: ['x', 'y'] });
    await kit.millrace.dispatch(mail, { to: 'b', due });
    expect(kit.dispatched(mail, { to: 'a' })).toHaveLength(1);
    expect(kit.dispatched(mail, { tags: ['x'] })).toEqual([]);
    expect(kit.dispatched(mail, ({ input }) => input.to > 'a')).toHaveLength(1);
    expect(kit.expectDispatched(mail, { due: due.toISOString() }).input).toEqual({
      to: 'b',
      due: due.toISOString(),
    });
    kit.expectNotDispatched(mail, { to: 'c' });
  });

  test('a deduplicated dispatch is none, and a deleted job was one', async () => {
    await using kit = await open();
    const { id } = await kit.millrace.dispatch(count, { by: 1 }, { unique: true });
    await kit.millrace.dispatch(count, { by: 1 }, { unique: true });
    await kit.millrace.delete(id);
    expect(kit.dispatched(count)).toMatchObject([{ id }]);
  });

  test('the error of a missing dispatch tells the nearest ones and where they differ', async () => {
    await using kit = await open();
    const { id } = await kit.millrace.dispatch(mail, { to: 'a', tags: ['x', 'y'] });
    const error = thrownBy(() => kit.expectDispatched(mail, { to: 'b', tags: ['x', 'z'] }));
    expect(error.message).toBe(
      [
        `expected a dispatch of job "mail" with { to: 'b', tags: [ 'x', 'z' ] } in its input; of 1 none has it:`,
        `  ${id}: { to: 'a', tags: [ 'x', 'y' ] }`,
        `    input.to: expected 'b', got 'a'`,
        `    input.tags[1]: expected 'z', got 'y'`,
      ].join('\n'),
    );
    expect(error).toMatchObject({
      actual: { to: 'a', tags: ['x', 'y'] },
      expected: { to: 'b', tags: ['x', 'z'] },
    });
    expect(error.stack).toContain('dispatched.test.ts');
    expect(error.stack).not.toContain('test-kit.ts');
  });

  test('with no dispatch of the job the error tells what there was', async () => {
    await using kit = await open();
    expect(() => kit.expectDispatched(mail)).toThrow(/Nothing was dispatched at all/);
    await kit.millrace.dispatch(count, { by: 1 });
    await kit.millrace.dispatch(count, { by: 2 });
    expect(() => kit.expectDispatched(mail)).toThrow(
      /"mail", but there was none. Dispatched were: count \(2\)/,
    );
  });

  test('an unwanted dispatch is shown', async () => {
    await using kit = await open();
    await kit.millrace.dispatch(count, { by: 1 });
    expect(thrownBy(() => kit.expectNotDispatched(count)).message).toMatch(/there were 1:\n.*\{ by: 1 \}/);
  });

  test('a name that is mistyped is an error, not an empty list', async () => {
    await using kit = await open();
    expect(() => kit.dispatched('mial')).toThrow(/no job "mial" .* Did you mean "mail"/);
    expect(() => kit.expectNotDispatched('mial')).toThrow(/no job "mial"/);
  });
});
