import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import type { JobContext } from '../../../src/client/job-context.js';
import { Millrace } from '../../../src/client/millrace.js';
import { NonRetriable } from '../../../src/client/outcomes.js';
import { isMillraceError } from '../../../src/internal/errors.js';
import type { EngineFixture } from '../../conformance/stage.js';
import { engineAvailable, openEngine, type TestEngine } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import type { UserDatabase, UserKind, UserTx } from './user-database.js';

type Run = (context: JobContext<unknown>, user: UserDatabase) => unknown;

interface SettleStage extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly user: UserDatabase;
  readonly millrace: Millrace;
}

const settle = (context: JobContext<unknown>, { tx, isSync }: UserTx, value?: unknown): unknown =>
  isSync ? context.settleInSync(tx, value) : context.settleIn(tx, value);

/** A worker whose only job runs `run`. */
async function openStage(kind: UserKind, run: Run): Promise<SettleStage> {
  const engine: TestEngine & EngineFixture = await openEngine(kind.engine);
  const user = await kind.open(engine.address);
  const job = defineJob('move', {
    attempts: 3,
    backoff: { type: 'fixed', base: '1h' },
    run: (context: JobContext<unknown>) => run(context, user),
  });
  const millrace: Millrace = new Millrace({ database: engine.address, jobs: [job] });
  const worker = millrace.worker();
  await worker.start();
  return {
    engine,
    user,
    millrace,
    async [Symbol.asyncDispose]() {
      await worker.stop();
      await millrace.close();
      await user[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

const statusOf = async ({ millrace }: SettleStage, id: string): Promise<string | undefined> =>
  (await millrace.job(id))?.status;

const ended = (stage: SettleStage, id: string, status: string): Promise<unknown> =>
  waitFor(async () => (await statusOf(stage, id)) === status, { describe: `the job to be ${status}` });

/** What takes seconds and is the same for all handles of an engine is left to a thorough run. */
export function settleSuite(kind: UserKind, { isThorough }: { readonly isThorough: boolean }): void {
  describe.skipIf(!engineAvailable(kind.engine))(
    `[${kind.engine}] settleIn a transaction of ${kind.name}`,
    () => {
      it('completes the job with the rows of the handler, once', async () => {
        await using stage = await openStage(kind, (context, user) =>
          user.transaction(function* (tx) {
            yield tx.insert('moved');
            yield settle(context, tx, { moved: 1 });
          }),
        );
        const events: string[] = [];
        stage.millrace.on('job:completed', ({ id }) => events.push(`completed ${id}`));
        stage.millrace.on('job:retrying', ({ id }) => events.push(`retrying ${id}`));
        const handle = await stage.millrace.dispatch('move', 1);
        expect(await handle.result({ timeout: '10s' })).toEqual({ moved: 1 });
        expect(await stage.user.notes()).toEqual(['moved']);
        await waitFor(() => events.length > 0, { describe: 'the event' });
        expect(events).toEqual([`completed ${handle.id}`]);
        expect((await stage.millrace.stats('default')).completed).toBe(1);
      });

      it('leaves nothing behind when the transaction is rolled back: the ordinary outcome counts', async () => {
        await using stage = await openStage(kind, (context, user) =>
          user.transaction(function* (tx) {
            yield tx.insert('moved');
            yield settle(context, tx, { moved: 1 });
            throw new Error('the handler changed its mind');
          }),
        );
        const handle = await stage.millrace.dispatch('move', 1);
        await waitFor(async () => (await handle.job())?.attempts === 1, { describe: 'the charged attempt' });
        expect(await handle.job()).toMatchObject({ status: 'pending', attempts: 1 });
        expect(await stage.user.notes()).toEqual([]);
      });

      it('keeps what the handler logged, before it and in it', async () => {
        await using stage = await openStage(kind, async (context, user) => {
          context.log.info('before');
          await user.transaction(function* (tx) {
            context.log.info('in it');
            yield settle(context, tx);
          });
          context.log.info('after');
        });
        const handle = await stage.millrace.dispatch('move', 1);
        await handle.result({ timeout: '10s' });
        const texts = async (): Promise<string[]> =>
          (await stage.millrace.log(handle.id)).map(({ text }) => text);
        await waitFor(async () => (await texts()).length === 3, { describe: 'three lines' });
        expect(await texts()).toEqual(['before', 'in it', 'after']);
      });

      it('may be called again in another transaction after a rollback', async () => {
        await using stage = await openStage(kind, async (context, user) => {
          for (const text of ['first', 'second']) {
            try {
              return await user.transaction(function* (tx) {
                yield tx.insert(text);
                yield settle(context, tx, text);
                if (text === 'first') throw new Error('once more');
              });
            } catch {
              // The second round is what it is about.
            }
          }
          return undefined;
        });
        const handle = await stage.millrace.dispatch('move', 1);
        expect(await handle.result({ timeout: '10s' })).toBe('second');
        expect(await stage.user.notes()).toEqual(['second']);
      });

      it('stands, whatever the handler does after the commit', async () => {
        let after: 'throw' | 'bury' | 'return' = 'throw';
        await using stage = await openStage(kind, async (context, user) => {
          await user.transaction(function* (tx) {
            yield settle(context, tx, 'settled');
          });
          if (after === 'throw') throw new Error('too late');
          if (after === 'bury') throw new NonRetriable('too late');
          return 'another value';
        });
        for (const kindOfEnd of ['throw', 'bury', 'return'] as const) {
          after = kindOfEnd;
          const handle = await stage.millrace.dispatch('move', 1);
          expect(await handle.result({ timeout: '10s' })).toBe('settled');
          expect(await handle.job()).toMatchObject({ status: 'completed', attempts: 0, failures: [] });
        }
      });

      it.skipIf(!isThorough)(
        'does not let the signal of a handler fire that goes on after its commit',
        async () => {
          let aborted: unknown = 'never ended';
          let release: () => void = () => undefined;
          const released = new Promise<void>((resolve) => {
            release = resolve;
          });
          await using stage = await openStage(kind, async (context, user) => {
            await user.transaction(function* (tx) {
              yield settle(context, tx, 'settled');
            });
            await released;
            aborted = context.signal.aborted;
          });
          const handle = await stage.millrace.dispatch('move', 1);
          await handle.result({ timeout: '10s' });
          // Longer than the looks at what this worker holds, once a second.
          const seenAt = performance.now();
          await waitFor(() => performance.now() - seenAt > 2_500, { describe: 'two looks at the leases' });
          release();
          await waitFor(() => aborted !== 'never ended', { describe: 'the end of the handler' });
          expect(aborted).toBe(false);
        },
      );

      it('releases what waits for the job, and not before the commit', async () => {
        await using stage = await openStage(kind, (context, user) => {
          if (context.input === 'child') return 'ran';
          return user.transaction(function* (tx) {
            yield settle(context, tx);
          });
        });
        const parent = await stage.millrace.dispatch('move', 'parent', { delay: '1h' });
        const child = await stage.millrace.dispatch('move', 'child', { after: parent });
        await stage.millrace.retry(parent.id);
        expect(await child.result({ timeout: '10s' })).toBe('ran');
      });

      it('throws when the lease is lost, so that the rows of the handler are rolled back', async () => {
        let code = 'none';
        await using stage = await openStage(kind, async (context, user) => {
          if (context.attempt > 1 || code !== 'none') return 'by the next';
          // Another hand ends the lease under the handler: what a rescuer does after it has lapsed.
          const token = await tokenOf(stage, context.job.id);
          const reason = 'taken by the test';
          await stage.engine.storage.settle([
            { id: context.job.id, token, kind: 'put-back', delayMs: 3_600_000, reason },
          ]);
          try {
            await user.transaction(function* (tx) {
              yield tx.insert('moved');
              yield settle(context, tx, 'lost');
            });
          } catch (error) {
            code = isMillraceError(error) ? error.code : String(error);
            throw error;
          }
          return undefined;
        });
        const handle = await stage.millrace.dispatch('move', 1);
        await waitFor(() => code !== 'none', { describe: 'the settleIn' });
        expect(code).toBe('lease-lost');
        expect(await stage.user.notes()).toEqual([]);
        await ended(stage, handle.id, 'pending');
        expect((await handle.job())?.attempts).toBe(0);
      });
    },
  );
}

/** Every lease of this test is of one worker, whose incarnation stands in its registration. */
async function tokenOf({ engine, millrace }: SettleStage, id: string): Promise<string> {
  const [worker] = await millrace.workers();
  if (worker === undefined) throw new Error('the worker of the test is registered');
  const held = await engine.storage.held(worker.incarnation);
  const token = held.find((lease) => lease.id === id)?.token;
  if (token === undefined) throw new Error('the worker of the test holds the job');
  return token;
}
