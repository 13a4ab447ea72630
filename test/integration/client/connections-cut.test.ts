import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { killSessions } from '../../support/kill-sessions.js';
import { serverAvailable, testDatabase } from '../../support/servers.js';
import { waitFor } from '../../support/wait-for.js';

for (const engine of ['postgres', 'mysql'] as const) {
  describe.skipIf(!serverAvailable(engine))(`[${engine}] client: connections cut again and again`, () => {
    it('loses and doubles no dispatch, alone, in flight or in bulk', async () => {
      await using database = await testDatabase(engine);
      await using killer = await killSessions(engine, database.url);
      const note = defineJob('note', {});
      const options = { database: database.url, migrate: 'auto', dispatchTimeout: '60s' } as const;
      await using millrace: Millrace = new Millrace(options);
      await millrace.open();
      const total = 600;
      let done = 0;
      let next = 0;
      const deduplicated: string[] = [];
      const dispatchers = Promise.all(
        Array.from({ length: 20 }, async () => {
          while (next < total) {
            const handle = await millrace.dispatch(note, next++);
            if (handle.deduplicated) deduplicated.push(handle.id);
            done += 1;
          }
        }),
      );
      const bulk = millrace.dispatchMany(
        Array.from({ length: 5000 }, (_, n) => ({ job: 'note', input: n, options: { queue: 'bulk' } })),
      );
      let cuts = 0;
      for (const mark of [20, 150, 300, 450]) {
        await waitFor(() => done >= mark, {
          describe: `${mark} dispatches`,
          deadlineMs: 60_000,
          intervalMs: 1,
        });
        cuts += await killer.killAll();
      }
      await dispatchers;
      const handles = await bulk;
      expect(cuts).toBeGreaterThan(0);
      expect(deduplicated).toEqual([]);
      expect(handles.some((handle) => handle.deduplicated)).toBe(false);
      expect(new Set(handles.map(({ id }) => id)).size).toBe(5000);
      expect((await millrace.stats('default')).pending).toBe(total);
      expect((await millrace.stats('bulk')).pending).toBe(5000);
    }, 120_000);
  });
}
