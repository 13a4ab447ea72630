import { defineJob } from '../../../src/client/define-job.js';
import type { DispatchOptions } from '../../../src/client/dispatch-options.js';
import type { JobHandle } from '../../../src/client/job-handle.js';
import { Millrace } from '../../../src/client/millrace.js';
import type { Storage } from '../../../src/storage/storage.js';
import { claimOf } from '../../support/claim-request.js';
import { openEngine } from '../../support/engines.js';
import type { UserDatabase, UserKind, UserTx } from './user-database.js';

export const note = defineJob('note', { run: ({ input }: { input: unknown }) => ({ got: input }) });

/** A client, a storage of its own beside it, and an application on the same database. */
export interface Stage extends AsyncDisposable {
  readonly address: string;
  readonly millrace: Millrace;
  readonly storage: Storage;
  readonly another: () => Promise<Storage>;
  readonly user: UserDatabase;
  /** `dispatch` or `dispatchSync`, whichever the handle takes. */
  dispatch(tx: UserTx, input: unknown, options?: Omit<DispatchOptions, 'tx'>): unknown;
  change(tx: UserTx, kind: 'retry' | 'bury' | 'cancel' | 'delete', id: string): unknown;
}

export async function openStage(kind: UserKind): Promise<Stage> {
  const engine = await openEngine(kind.engine);
  const millrace: Millrace = new Millrace({ database: engine.address, jobs: [note] });
  await millrace.open();
  const user = await kind.open(engine.address);
  const { storage, another } = engine;
  if (another === undefined) throw new Error('every engine but memory can be opened twice');
  return {
    address: engine.address,
    millrace,
    storage,
    another,
    user,
    dispatch: ({ tx, isSync }, input, options = {}) =>
      isSync
        ? millrace.dispatchSync('note', input, { ...options, tx })
        : millrace.dispatch('note', input, { ...options, tx }),
    change: ({ tx, isSync }, change, id) =>
      isSync ? millrace.controlSync(change, id, { tx }) : millrace[change](id, { tx }),
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await millrace.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}

export const asHandle = (value: unknown): JobHandle => value as JobHandle;

const leaseMs = 60_000;
let claims = 0;

/** What a worker of another process would get now. */
export async function claimAll(storage: Storage, token?: string): Promise<string[]> {
  claims += 1;
  const claimed = await storage.claim(
    claimOf({
      token: token ?? claims.toString(16).padStart(32, '0'),
      workerId: 'w-test',
      queues: ['default'],
      names: ['note'],
      limit: 100,
      start: 100,
      alone: false,
      leaseMs,
    }),
  );
  return claimed.map(({ id }) => id);
}
