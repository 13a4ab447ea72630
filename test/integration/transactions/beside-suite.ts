import { describe, expect, it } from 'vitest';
import { isMillraceError } from '../../../src/internal/errors.js';
import { uuidv7 } from '../../../src/internal/uuid.js';
import { engineAvailable } from '../../support/engines.js';
import { waitFor } from '../../support/wait-for.js';
import { asHandle, claimAll, openStage, type Stage } from './stage.js';
import type { Steps, UserKind, UserTx } from './user-database.js';

/** Work of others that must not wait for a transaction of the user's; half a second is a thousand times what it takes. */
async function atOnce<T>(what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} waited for the user's transaction`)), 3_000);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const incarnation = 'cd'.repeat(8);

/** What a user's open transaction does to those beside it: servers only, an SQLite file has one writer. */
export function besideSuite(kind: UserKind): void {
  describe.skipIf(!engineAvailable(kind.engine))(
    `[${kind.engine}] beside an open transaction of ${kind.name}`,
    () => {
      const held = async (
        stage: Stage,
        steps: (tx: UserTx) => Steps<unknown>,
        meanwhile: () => Promise<unknown>,
      ) =>
        stage.user.transaction(function* (tx) {
          yield* steps(tx);
          yield meanwhile();
        });

      it('others dispatch, claim and settle, whatever it has done', async () => {
        await using stage = await openStage(kind);
        const token = `${incarnation}${'0'.repeat(15)}1`;
        const parent = await stage.millrace.dispatch('note', 'parent');
        const other = await stage.millrace.dispatch('note', 'other');
        expect(await claimAll(stage.storage, token)).toHaveLength(2);
        const waiting = await stage.millrace.dispatch('note', 'to be cancelled');
        const everything = function* (tx: UserTx): Steps<void> {
          yield stage.dispatch(tx, 'plain');
          yield stage.dispatch(tx, 'unique', { unique: { key: 'theirs' } });
          yield stage.dispatch(tx, 'child', { after: parent });
          yield stage.change(tx, 'cancel', waiting.id);
        };
        await held(stage, everything, async () => {
          await atOnce('a dispatch', stage.millrace.dispatch('note', 1));
          await atOnce(
            'a dispatch with a key',
            stage.millrace.dispatch('note', 1, { unique: { key: 'ours' } }),
          );
          await atOnce('a dispatch with a parent', stage.millrace.dispatch('note', 1, { after: other }));
          await atOnce(
            'a bulk',
            stage.millrace.dispatchMany(Array.from({ length: 300 }, () => ({ job: 'note' }))),
          );
          const again = `${incarnation}${'0'.repeat(15)}2`;
          const ids = await atOnce('a claim', claimAll(stage.storage, again));
          expect(ids.length).toBeGreaterThan(90);
          const settlements = ids.map((id) => ({
            id,
            token: again,
            kind: 'completed' as const,
            result: null,
          }));
          await atOnce('a settle', stage.storage.settle(settlements));
          await atOnce(
            'a settle of a parent',
            stage.storage.settle([{ id: other.id, token, kind: 'completed', result: null }]),
          );
        });
        expect(await stage.millrace.job(waiting.id)).toMatchObject({ status: 'cancelled' });
      });

      it('the leases of a worker are renewed, but for one that it has locked', async () => {
        await using stage = await openStage(kind);
        const token = `${incarnation}${'0'.repeat(15)}1`;
        const parent = await stage.millrace.dispatch('note', 'parent');
        const other = await stage.millrace.dispatch('note', 'other');
        await claimAll(stage.storage, token);
        const before = (await stage.millrace.job(other.id))?.leaseUntil?.getTime() ?? 0;
        const lock = function* (tx: UserTx): Steps<void> {
          yield stage.dispatch(tx, 'child', { after: parent });
        };
        await held(stage, lock, async () => {
          const leases = await atOnce('a renewal', stage.storage.renew(incarnation, 3_600_000));
          expect(leases.map(({ id }) => id).sort()).toEqual([parent.id, other.id].sort());
        });
        const after = (await stage.millrace.job(other.id))?.leaseUntil?.getTime() ?? 0;
        expect(after - before).toBeGreaterThan(3_000_000);
      });

      it('a parent that it waits for can end only after it', async () => {
        await using stage = await openStage(kind);
        const token = `${incarnation}${'0'.repeat(15)}1`;
        const parent = await stage.millrace.dispatch('note', 'parent');
        await claimAll(stage.storage, token);
        const another = await stage.another();
        let settled: Promise<unknown> = Promise.resolve();
        const child = await stage.user.transaction(function* (tx) {
          const made = asHandle(yield stage.dispatch(tx, 'child', { after: parent }));
          settled = another.settle([{ id: parent.id, token, kind: 'completed', result: null }]);
          return made;
        });
        expect(await settled).toEqual(['done']);
        expect((await child.job())?.status).toBe('pending');
      });

      it('holds a unique key against a dispatch of others until it has ended', async () => {
        await using stage = await openStage(kind);
        const another = await stage.another();
        expect(another).toBeDefined();
        let rival: Promise<ReturnType<typeof asHandle>> | undefined;
        const mine = await stage.user.transaction(function* (tx) {
          const made = asHandle(yield stage.dispatch(tx, 1, { unique: { key: 'one' } }));
          rival = stage.millrace.dispatch('note', 2, { unique: { key: 'one' } });
          return made;
        });
        expect(await rival).toMatchObject({ id: mine.id, deduplicated: true });
      });
    },
  );
}

/** What others have committed since the first read of a transaction at REPEATABLE READ, the default of MySQL. */
export function snapshotSuite(kind: UserKind): void {
  describe.skipIf(!engineAvailable(kind.engine))(`[${kind.engine}] a snapshot of ${kind.name}`, () => {
    const behind = <T>(
      stage: Stage,
      meanwhile: () => Promise<T>,
      steps: (tx: UserTx, made: T) => Steps<unknown>,
    ): Promise<unknown> =>
      stage.user.transaction(function* (tx) {
        yield tx.run('select count(*) as n from notes');
        yield tx.run('select count(*) as n from millrace_jobs');
        const made = (yield meanwhile()) as T;
        return yield* steps(tx, made);
      });

    it('hides no parent, no id and no freed key', async () => {
      await using stage = await openStage(kind);
      const holder = await stage.millrace.dispatch('note', 'holder', { unique: { key: 'one' } });
      const known = uuidv7();
      const token = 'ef'.repeat(16);
      const answers = await behind(
        stage,
        async () => {
          await claimAll(stage.storage, token);
          await stage.storage.settle([{ id: holder.id, token, kind: 'completed', result: null }]);
          await stage.millrace.dispatch('note', 'taken', { unique: { key: 'two' } });
          await stage.millrace.dispatch('note', 'known', { id: known });
          return stage.millrace.dispatch('note', 'parent');
        },
        function* (tx, parent) {
          const child = asHandle(yield stage.dispatch(tx, 'child', { after: [parent, holder] }));
          const freed = asHandle(yield stage.dispatch(tx, 'freed', { unique: { key: 'one' } }));
          const taken = asHandle(yield stage.dispatch(tx, 'late', { unique: { key: 'two' } }));
          const again = asHandle(yield stage.dispatch(tx, 'again', { id: known }));
          const cancelled = yield stage.change(tx, 'cancel', parent.id);
          const final = yield stage.change(tx, 'cancel', holder.id);
          return { child, flags: [freed, taken, again].map((one) => one.deduplicated), cancelled, final };
        },
      );
      expect(answers).toMatchObject({
        flags: [false, true, true],
        cancelled: 'done',
        final: 'already-final',
      });
      const { child } = answers as { child: ReturnType<typeof asHandle> };
      expect(await child.job()).toMatchObject({ status: 'buried', reason: 'parent-failed' });
    });

    it('hides nobody who has come to wait for the job that is settled in it', async () => {
      await using stage = await openStage(kind);
      const parent = await stage.millrace.dispatch('note', 'parent');
      const token = 'ef'.repeat(16);
      await claimAll(stage.storage, token);
      const queueOf = (tx: UserTx) => stage.storage.within(tx.tx);
      await behind(
        stage,
        () => stage.millrace.dispatch('note', 'child', { after: parent }),
        function* (tx) {
          yield queueOf(tx).settle({ id: parent.id, token, kind: 'completed', result: null });
        },
      );
      expect(await claimAll(stage.storage)).toHaveLength(1);
    });

    it('is left as it was by a statement that fails', async () => {
      await using stage = await openStage(kind);
      let code = 'none';
      await stage.user.transaction(function* (tx) {
        yield tx.insert('kept');
        try {
          // A name that is too long for its column fails in the middle.
          yield stage.storage.within(tx.tx).enqueue([{ ...plainJob(), maxAttempts: -1 }]);
        } catch (error) {
          code = isMillraceError(error) ? error.code : String(error);
        }
        yield stage.dispatch(tx, 'kept');
      });
      expect(code).toBe('query-failed');
      expect(await stage.user.notes()).toEqual(['kept']);
      await waitFor(async () => (await stage.millrace.stats('default')).pending === 1, {
        describe: 'one job',
      });
    });
  });
}

function plainJob() {
  return {
    id: uuidv7(),
    name: 'note',
    queue: 'default',
    payload: '1',
    version: 1,
    tags: [],
    priority: 0,
    due: { inMs: 0 },
    maxAttempts: 3,
    retentionMs: null,
    unique: null,
    idempotency: null,
    after: null,
    limit: null,
    cost: 1,
    requires: [],
  };
}
