import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Millrace } from '../../src/client/millrace.js';
import { emptyDatabase, engineAvailable } from '../support/engines.js';
import { tcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

/** Queue and name were looked up side by side: when both failed, the second rejection was nobody's and ended the process. */
for (const engine of ['postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] a dispatch of a new name to a new queue`, () => {
    test('fails as one when its connections die, and is nobody else’s trouble', async () => {
      await using database = await emptyDatabase(engine);
      await using proxy = await tcpProxy(database.address);
      const unhandled: unknown[] = [];
      const note = (reason: unknown): void => void unhandled.push(reason);
      process.on('unhandledRejection', note);
      try {
        await using millrace = new Millrace({
          database: proxy.url,
          migrate: 'auto',
          dispatchTimeout: '300ms',
        });
        await millrace.open();
        proxy.dropAnswers(() => true);
        await expect(millrace.dispatch('new-name', {}, { queue: 'new-queue' })).rejects.toMatchObject({
          code: 'deadline-exceeded',
        });
        proxy.dropAnswers(null);
        await waitFor(() => millrace.dispatch('new-name', {}, { queue: 'new-queue' }), {
          describe: 'a dispatch over a new connection',
        });
        await turn();
      } finally {
        process.off('unhandledRejection', note);
      }
      expect(unhandled).toEqual([]);
    });
  });
}
