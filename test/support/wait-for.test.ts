import { describe, expect, test } from 'vitest';
import { waitFor } from './wait-for.js';

describe('waitFor', () => {
  test('returns the first truthy value', async () => {
    let calls = 0;
    const value = await waitFor(() => (++calls === 3 ? `call ${calls}` : undefined), {
      describe: 'three calls',
    });
    expect(value).toBe('call 3');
  });

  test('names what was awaited and the last value when the deadline passes', async () => {
    const waiting = waitFor(() => false, { describe: 'the moon', deadlineMs: 30 });
    await expect(waiting).rejects.toThrow('waited 30 ms in vain for: the moon (last value: false)');
  });

  test('takes an error as "not yet" and keeps the last one as cause', async () => {
    const cause = new Error('connection refused');
    const waiting = waitFor(() => Promise.reject(cause), { describe: 'the server', deadlineMs: 30 });
    await expect(waiting).rejects.toMatchObject({ cause });
  });

  test('ends at the deadline though the condition hangs', async () => {
    const waiting = waitFor(() => new Promise<boolean>(() => {}), { describe: 'an answer', deadlineMs: 30 });
    await expect(waiting).rejects.toThrow('an answer');
  });
});
