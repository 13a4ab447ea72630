import { describe, expect, it } from 'vitest';
import type { EditOptions } from '../../../src/client/edit-options.js';
import { isMillraceError } from '../../../src/internal/errors.js';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { peekAt } from '../../support/claim-request.js';
import { engineAvailable } from '../../support/engines.js';
import { asHandle, claimAll, openStage, type Stage } from './stage.js';
import type { Steps, UserKind, UserTx } from './user-database.js';

const rollback = new Error('the application changed its mind');

/** Runs the steps and takes everything back. */
async function rolledBack(stage: Stage, steps: (tx: UserTx) => Steps<unknown>): Promise<void> {
  const ended = stage.user.transaction(function* (tx) {
    yield* steps(tx);
    throw rollback;
  });
  await expect(ended).rejects.toBe(rollback);
}

const codeOf = (error: unknown): string => (isMillraceError(error) ? error.code : String(error));

export function dispatchSuite(kind: UserKind): void {
  describe.skipIf(!engineAvailable(kind.engine))(
    `[${kind.engine}] dispatch in a transaction of ${kind.name}`,
    () => {
      it('is there with the commit, and runs', async () => {
        await using stage = await openStage(kind);
        const handle = await stage.user.transaction(function* (tx) {
          yield tx.insert('one');
          return asHandle(yield stage.dispatch(tx, { n: 1 }));
        });
        expect(handle.deduplicated).toBe(false);
        expect(await stage.user.notes()).toEqual(['one']);
        expect(await handle.job()).toMatchObject({ status: 'pending', input: { n: 1 }, queue: 'default' });
        await using worker = stage.millrace.worker();
        await worker.start();
        expect(await handle.result({ timeout: '10s' })).toEqual({ got: { n: 1 } });
      });

      it('is gone with the rollback', async () => {
        await using stage = await openStage(kind);
        let handle = null as ReturnType<typeof asHandle> | null;
        await rolledBack(stage, function* (tx) {
          yield tx.insert('one');
          handle = asHandle(yield stage.dispatch(tx, { n: 1 }, { unique: true, queue: 'never-heard-of' }));
        });
        expect(await stage.user.notes()).toEqual([]);
        expect(await handle?.job()).toBeNull();
        expect(await claimAll(stage.storage)).toEqual([]);
        // Nothing is left of it: the same key is free.
        const again = await stage.millrace.dispatch('note', { n: 1 }, { unique: true });
        expect(again.deduplicated).toBe(false);
      });

      it.skipIf(!kind.isAwaited)('is seen by no worker before the commit', async () => {
        await using stage = await openStage(kind);
        const seen = await stage.user.transaction(function* (tx) {
          yield stage.dispatch(tx, 1);
          yield stage.dispatch(tx, 2, { unique: { key: 'key' }, priority: 'high' });
          // An SQLite file has one writer: its claims wait for this transaction, a look does not.
          return (yield kind.engine === 'sqlite'
            ? stage.storage
                .peek(peekAt(['default'], ['note']))
                .then(({ dueInMs }) => (dueInMs === null ? [] : ['due']))
            : claimAll(stage.storage)) as string[];
        });
        expect(seen).toEqual([]);
        expect(await claimAll(stage.storage)).toHaveLength(2);
      });

      it('keeps its options: id, delay, priority, attempts, limit, cost, labels', async () => {
        await using stage = await openStage(kind);
        const id = uuidv7();
        const handle = await stage.user.transaction(function* (tx) {
          const options = {
            id,
            delay: '1h',
            priority: 'urgent',
            attempts: 7,
            limit: { group: 'g', key: 'k', max: 2 },
            cost: 3,
            requires: ['gpu', 'eu'],
            queue: 'späť'.normalize('NFD').slice(0, 1),
          } as const;
          return asHandle(yield stage.dispatch(tx, 'x', options));
        });
        expect(handle.id).toBe(id);
        const job = await handle.job();
        expect(job).toMatchObject({ status: 'pending', priority: 20, maxAttempts: 7, queue: 's' });
        const limit = { group: 'g', key: 'k', max: 2 };
        expect(job).toMatchObject({ limit, cost: 3, requires: ['eu', 'gpu'] });
        expect((job?.dueAt.getTime() ?? 0) - (job?.createdAt.getTime() ?? 0)).toBe(3_600_000);
      });

      it('writes hostile and large inputs as they are', async () => {
        await using stage = await openStage(kind);
        const inputs = [
          "'; drop table notes; --",
          '$1 ? :name @now \\ " `',
          '{"a":[1]}',
          '\u00e9\u{1f600}',
          'x'.repeat(40_000),
        ];
        const handles = await stage.user.transaction(function* (tx) {
          const made = [];
          for (const input of inputs)
            made.push(asHandle(yield stage.dispatch(tx, input, { unique: { key: input.slice(0, 100) } })));
          return made;
        });
        for (const [index, handle] of handles.entries())
          expect((await handle.job())?.input).toBe(inputs[index]);
      });

      it('tells a repeat of an id from another job that holds the key', async () => {
        await using stage = await openStage(kind);
        const held = await stage.millrace.dispatch('note', 1, { unique: { key: 'key' } });
        const known = uuidv7();
        await stage.millrace.dispatch('note', 1, { id: known });
        const fresh = uuidv7();
        const answers = await stage.user.transaction(function* (tx) {
          const made = [
            asHandle(yield stage.dispatch(tx, 2, { unique: { key: 'key' } })),
            asHandle(yield stage.dispatch(tx, 2, { id: known, unique: { key: 'key' } })),
            asHandle(yield stage.dispatch(tx, 2, { id: fresh, unique: { key: 'other' } })),
            asHandle(yield stage.dispatch(tx, 2, { id: fresh, unique: { key: 'other' } })),
            asHandle(yield stage.dispatch(tx, 2, { unique: { key: 'other' } })),
          ];
          yield tx.insert('the transaction goes on');
          return made.map(({ id, deduplicated }) => ({ id, deduplicated }));
        });
        expect(answers).toEqual([
          { id: held.id, deduplicated: true },
          { id: known, deduplicated: true },
          { id: fresh, deduplicated: false },
          { id: fresh, deduplicated: true },
          { id: fresh, deduplicated: true },
        ]);
        expect(await stage.user.notes()).toEqual(['the transaction goes on']);
      });

      it('tells a repeat of a job that has ended', async () => {
        await using stage = await openStage(kind);
        const done = await stage.millrace.dispatch('note', 1, { unique: { key: 'key' } });
        const token = 'ab'.repeat(16);
        await claimAll(stage.storage, token);
        await stage.storage.settle([{ id: done.id, token, kind: 'completed', result: null }]);
        const [again, freed] = await stage.user.transaction(function* (tx) {
          return [
            asHandle(yield stage.dispatch(tx, 1, { id: done.id })),
            asHandle(yield stage.dispatch(tx, 1, { unique: { key: 'key' } })),
          ] as const;
        });
        expect(again).toMatchObject({ id: done.id, deduplicated: true });
        expect(freed.deduplicated).toBe(false);
        expect(freed.id).not.toBe(done.id);
      });

      it('refuses a used idempotency key, and the transaction goes on', async () => {
        await using stage = await openStage(kind);
        const first = await stage.millrace.dispatch('note', 1, { idempotencyKey: 'k' });
        const answers = await stage.user.transaction(function* (tx) {
          const same = asHandle(yield stage.dispatch(tx, 1, { idempotencyKey: 'k' }));
          let code = 'none';
          try {
            yield stage.dispatch(tx, 2, { idempotencyKey: 'k' });
          } catch (error) {
            code = codeOf(error);
          }
          yield tx.insert('still here');
          return { same: same.id, code };
        });
        expect(answers).toEqual({ same: first.id, code: 'idempotency-conflict' });
        expect(await stage.user.notes()).toEqual(['still here']);
      });

      it('waits for jobs of the same transaction and of others', async () => {
        await using stage = await openStage(kind);
        const outer = await stage.millrace.dispatch('note', 'outer');
        const { inner, child, code } = await stage.user.transaction(function* (tx) {
          const parent = asHandle(yield stage.dispatch(tx, 'inner'));
          const waiting = asHandle(yield stage.dispatch(tx, 'child', { after: [outer, parent] }));
          let refused = 'none';
          try {
            yield stage.dispatch(tx, 'orphan', { after: uuidv7() });
          } catch (error) {
            refused = codeOf(error);
          }
          return { inner: parent, child: waiting, code: refused };
        });
        expect(code).toBe('parent-not-found');
        expect((await child.job())?.status).toBe('blocked');
        await using worker = stage.millrace.worker();
        await worker.start();
        await child.result({ timeout: '10s' });
        expect((await inner.job())?.status).toBe('completed');
        expect((await outer.job())?.status).toBe('completed');
      });

      it('writes many in one transaction, or none of them', async () => {
        await using stage = await openStage(kind);
        const ids = Array.from({ length: 1_205 }, () => uuidv7());
        const entries = ids.map((id, index) => ({
          job: 'note',
          input: index,
          options: {
            id,
            ...(index % 400 === 399 ? { after: ids[0] as string, unique: { key: `k${index}` } } : {}),
          },
        }));
        const many = (tx: UserTx): unknown =>
          tx.isSync
            ? stage.millrace.dispatchManySync(entries, { tx: tx.tx })
            : stage.millrace.dispatchMany(entries, { tx: tx.tx });
        await rolledBack(stage, function* (tx) {
          yield many(tx);
        });
        expect((await stage.millrace.stats('default')).pending).toBe(0);
        const handles = (await stage.user.transaction(function* (tx) {
          return yield many(tx);
        })) as ReturnType<typeof asHandle>[];
        expect(handles.map(({ id }) => id)).toEqual(ids);
        expect(handles.some(({ deduplicated }) => deduplicated)).toBe(false);
        expect(await stage.millrace.stats('default')).toMatchObject({ pending: 1_202, blocked: 3 });
      });

      it('changes jobs with the commit, or not at all', async () => {
        await using stage = await openStage(kind);
        const dispatch = (input: string): Promise<{ id: string }> => stage.millrace.dispatch('note', input);
        const [cancelled, buried, deleted, retried] = [
          await dispatch('cancel'),
          await dispatch('bury'),
          await dispatch('delete'),
          await dispatch('retry'),
        ];
        await stage.millrace.bury(retried.id);
        const changes = function* (tx: UserTx): Steps<unknown> {
          return [
            yield stage.change(tx, 'cancel', cancelled.id),
            yield stage.change(tx, 'bury', buried.id),
            yield stage.change(tx, 'delete', deleted.id),
            yield stage.change(tx, 'retry', retried.id),
            yield stage.change(tx, 'cancel', uuidv7()),
          ];
        };
        const statuses = async (): Promise<(string | undefined)[]> =>
          Promise.all(
            [cancelled, buried, deleted, retried].map(
              async ({ id }) => (await stage.millrace.job(id))?.status,
            ),
          );
        await rolledBack(stage, changes);
        expect(await statuses()).toEqual(['pending', 'pending', 'pending', 'buried']);
        expect(await stage.user.transaction(changes)).toEqual(['done', 'done', 'done', 'done', 'not-found']);
        expect(await statuses()).toEqual(['cancelled', 'buried', undefined, 'pending']);
      });

      it('edits jobs with the commit, or not at all, those of the same transaction too', async () => {
        await using stage = await openStage(kind);
        const first = await stage.millrace.dispatch('note', 'before', { delay: '1h' });
        const edit = (tx: UserTx, id: string, options: EditOptions): unknown =>
          tx.isSync
            ? stage.millrace.editSync(id, options, { tx: tx.tx })
            : stage.millrace.edit(id, options, { tx: tx.tx });
        const steps = function* (tx: UserTx): Steps<unknown> {
          const made = asHandle(yield stage.dispatch(tx, 'made', { delay: '1h' }));
          return [
            made.id,
            yield edit(tx, first.id, { input: 'after', priority: 'high' }),
            yield edit(tx, made.id, { input: 'made anew', queue: 'other' }),
            yield edit(tx, uuidv7(), { input: 'nobody' }),
            yield edit(tx, uuidv7(), { priority: 'low' }),
          ];
        };
        await rolledBack(stage, steps);
        expect(await stage.millrace.job(first.id)).toMatchObject({ input: 'before', priority: 0 });
        const [made, ...outcomes] = (await stage.user.transaction(steps)) as string[];
        expect(outcomes).toEqual(['done', 'done', 'not-found', 'not-found']);
        expect(await stage.millrace.job(first.id)).toMatchObject({ input: 'after', priority: 10 });
        expect(await stage.millrace.job(made ?? '')).toMatchObject({ input: 'made anew', queue: 'other' });
      });

      it('sees and frees what the same transaction has done', async () => {
        await using stage = await openStage(kind);
        const first = await stage.millrace.dispatch('note', 1, { unique: { key: 'key' } });
        const { second, third } = await stage.user.transaction(function* (tx) {
          yield stage.change(tx, 'cancel', first.id);
          const made = asHandle(yield stage.dispatch(tx, 2, { unique: { key: 'key' } }));
          yield stage.change(tx, 'delete', made.id);
          return { second: made, third: asHandle(yield stage.dispatch(tx, 3, { unique: { key: 'key' } })) };
        });
        expect([second.deduplicated, third.deduplicated]).toEqual([false, false]);
        expect(await second.job()).toBeNull();
        expect((await third.job())?.status).toBe('pending');
        expect((await first.job())?.status).toBe('cancelled');
        expect(await claimAll(stage.storage)).toEqual([third.id]);
      });

      it.skipIf(kind.isAwaited)('has no awaited form for a handle that is not awaited', async () => {
        await using stage = await openStage(kind);
        let refused: Promise<unknown> = Promise.resolve();
        await stage.user.transaction(function* (tx) {
          refused = stage.millrace.dispatch('note', 1, { tx: tx.tx });
          refused.catch(() => undefined);
          yield tx.insert('one');
        });
        await expect(refused).rejects.toThrow(/dispatchSync/);
        await expect(refused).rejects.toMatchObject({ code: 'tx-invalid' });
        expect((await stage.millrace.stats('default')).pending).toBe(0);
      });

      it.skipIf(!kind.isAwaited)('has no synchronous form for a handle that must be awaited', async () => {
        await using stage = await openStage(kind);
        await stage.user.transaction(function* (tx) {
          expect(() => stage.millrace.dispatchSync('note', 1, { tx: tx.tx })).toThrow(/await/);
          yield tx.insert('one');
        });
        expect((await stage.millrace.stats('default')).pending).toBe(0);
      });

      it('says that the transaction has failed before, and writes nothing', async () => {
        if (kind.engine !== 'postgres') return;
        await using stage = await openStage(kind);
        let code = 'none';
        await rolledBack(stage, function* (tx) {
          try {
            yield tx.run('select 1 / 0');
          } catch {
            // That it fails is what the test wants.
          }
          try {
            yield stage.dispatch(tx, 1);
          } catch (error) {
            code = codeOf(error);
          }
        });
        expect(code).toBe('tx-aborted');
        expect((await stage.millrace.stats('default')).pending).toBe(0);
      });
    },
  );
}
