import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { hasErrorCode, isMillraceError } from '../../../src/internal/errors.js';
import { engineAvailable, openEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { asHandle } from './stage.js';
import type { UserKind } from './user-database.js';

const applications = 5;
const transactions = 12;
/**
 * InnoDB's gap locks can deadlock two transactions that share no row. A transaction that is told so is run again whole,
 * as its owner has to; on the other engines none may be needed.
 */
const mostRepeats = { mysql: applications * transactions * 0.1, postgres: 0, sqlite: 0, memory: 0 };

/** Many transactions of an application at once, each with jobs, beside workers whose handlers settle in their own. */
export function loadSuite(kind: UserKind): void {
  describe.skipIf(!engineAvailable(kind.engine))(`[${kind.engine}] many transactions of ${kind.name}`, () => {
    it('end, and each job leaves its row once', async () => {
      await using engine = await openEngine(kind.engine);
      await using user = await kind.open(engine.address);
      const move = defineJob('move', {
        run: (context: JobContext<unknown>) =>
          user.transaction(function* ({ tx, isSync, insert }) {
            yield insert(`done ${context.job.id}`);
            yield isSync ? context.settleInSync(tx) : context.settleIn(tx);
          }),
      });
      await using millrace = new Millrace({ database: engine.address, jobs: [move] });
      await using worker = millrace.worker({ concurrency: 3 });
      await worker.start();
      const trouble: string[] = [];
      let repeats = 0;
      const dispatched = new Set<string>();
      const one = async (application: number, round: number): Promise<void> => {
        const made = await user.transaction(function* ({ tx, isSync, insert }) {
          const dispatch = (options: object): unknown =>
            isSync
              ? millrace.dispatchSync('move', round, { ...options, tx })
              : millrace.dispatch('move', round, { ...options, tx });
          yield insert(`order ${application}.${round}`);
          const first = asHandle(yield dispatch({}));
          const unique = asHandle(yield dispatch({ unique: { key: `key ${round % 4}` } }));
          const last = asHandle(yield dispatch({ after: { jobs: [first, unique], onFailure: 'run' } }));
          return [first, unique, last];
        });
        for (const { id, deduplicated } of made) if (!deduplicated) dispatched.add(id);
      };
      await Promise.all(
        Array.from({ length: applications }, async (_, application) => {
          for (let round = 0; round < transactions; round += 1) {
            try {
              await one(application, round);
            } catch (error) {
              if (hasErrorCode(error, 'tx-aborted')) {
                repeats += 1;
                round -= 1;
              } else trouble.push(isMillraceError(error) ? `${error.code}: ${error.message}` : String(error));
            }
          }
        }),
      );
      expect(trouble).toEqual([]);
      expect(repeats).toBeLessThanOrEqual(mostRepeats[kind.engine]);
      await waitFor(async () => (await millrace.stats('default')).completed === dispatched.size, {
        describe: 'every job to be completed',
        deadlineMs: 60_000,
      });
      const notes = await user.notes();
      expect(notes.filter((text) => text.startsWith('order'))).toHaveLength(applications * transactions);
      expect(notes.filter((text) => text.startsWith('done')).sort()).toEqual(
        [...dispatched].map((id) => `done ${id}`).sort(),
      );
    }, 120_000);
  });
}
