import { expect, test } from 'vitest';
import { hasErrorCode } from '../../src/internal/errors.js';
import type { Stage } from './stage.js';

export function lifecycleSuite(stage: Stage): void {
  test('a closed storage refuses calls, closes again without harm, and leaves others on its database alone', async ({
    skip,
  }) => {
    skip(stage.engine === 'memory', 'its one object is the database');
    await using other = await stage.another();
    const queue = stage.queue();
    const watch = await other.storage.watch(() => undefined);
    await other.storage.enqueue([stage.newJob(queue)]);
    await Promise.all([other.storage.close(), other.storage.close()]);
    await other.storage.close();
    await watch[Symbol.asyncDispose]();
    for (const call of [() => other.storage.now(), () => other.storage.enqueue([stage.newJob(queue)])]) {
      await expect(call()).rejects.toSatisfy((error) => hasErrorCode(error, 'closed'));
    }
    expect(await stage.claim(queue)).toHaveLength(1);
  });

  test('what one object wrote another sees at once', async () => {
    await using other = await stage.another();
    const queue = stage.queue();
    const id = await stage.add(queue);
    expect((await other.storage.job(id))?.status).toBe('pending');
    const [job] = await other.storage.claim(stage.request(queue));
    expect(job?.id).toBe(id);
    expect((await stage.record(id)).status).toBe('processing');
    await stage.storage.setPaused(queue, true);
    expect(await other.storage.pausedQueues()).toContain(queue);
    expect((await other.storage.stats(queue))[0]).toMatchObject({ paused: true, processing: 1 });
  });

  test('two objects answer the same time', async () => {
    await using other = await stage.another();
    const [mine, theirs] = [await stage.storage.now(), await other.storage.now()];
    expect(Math.abs(mine - theirs)).toBeLessThan(5_000);
  });
}
