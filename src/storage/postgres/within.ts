/*
 * The queue inside a transaction of the user's. Kinds and lines are registered beforehand on our own connection, since a row of
 * theirs that is not yet committed would make every other dispatch of a new kind wait; one without jobs harms nothing.
 * The wake-up is a NOTIFY inside the transaction: the server sends it at the commit, and never after a rollback.
 */
import { isUuid } from '../../internal/uuid.js';
import type { EnqueueOutcome } from '../new-job.js';
import type { ControlOutcome, SettleOutcome } from '../settlement.js';
import type { AsyncHandle } from '../transaction/handle.js';
import { saysTransactionStatus } from '../transaction/pg-client.js';
import type { TransactionQueue } from '../transaction/queue.js';
import { asyncHandle } from '../transaction/recognise.js';
import { txInvalid } from '../transaction/tx-errors.js';
import type { Context } from './context.js';
import { Control } from './control.js';
import { Enqueuer, type Registries } from './enqueue.js';
import { Followed } from './followed.js';
import { Inspector } from './inspect.js';
import { payloadOf } from './notify-session.js';
import { controlQueries } from './queries/control.js';
import { notifyWithin, transactionId } from './queries/within.js';
import { textOf } from './statement.js';
import { UserSession } from './user-session.js';

export interface WithinParts {
  readonly context: Context;
  /** On our own connection. */
  readonly registries: Registries;
  readonly channel: string;
}

export function within(tx: unknown, parts: WithinParts): TransactionQueue {
  const handle = asyncHandle(tx, 'postgres');
  const run = <T>(work: (context: Context) => Promise<T>): Promise<T> => runWithin(handle, parts, work);
  return {
    async enqueue(jobs): Promise<EnqueueOutcome[]> {
      await parts.registries.kinds.know(jobs);
      await parts.registries.lines.of(jobs);
      return run((context) => new Enqueuer(context, parts.registries).enqueue(jobs));
    },
    settle: (settlement) =>
      run(async (context) => {
        const [outcome] = await new Followed(context).settle([settlement]);
        return outcome as SettleOutcome;
      }),
    async change(change, id): Promise<ControlOutcome> {
      if (change.kind === 'retry') await nameLineOf(id, parts);
      return run(async (context) => {
        const control = new Control(context, new Followed(context));
        const [outcome] = await control.changeMany({ change, ids: [id] });
        return outcome as ControlOutcome;
      });
    },
    nameOf: (id) => run(async (context) => (await new Inspector(context).job(id))?.name ?? null),
  };
}

/** A line that was removed since the job ended is written again, and committed, before the transaction needs it. */
async function nameLineOf(id: string, { context, registries }: WithinParts): Promise<void> {
  if (!isUuid(id)) return;
  const [row] = await context.connection.run(controlQueries(context.schema).endedTerms, [id]);
  await registries.lines.ofTerms([row?.[0] ?? null]);
}

async function runWithin<T>(
  handle: AsyncHandle,
  { context, channel }: WithinParts,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  const session = new UserSession(handle, context.schema);
  if (handle.label === 'a pg client' && !saysTransactionStatus(handle.identity))
    await refuseAutocommit(session);
  const awakened = new Set<string>();
  const wake = (queues: Iterable<string>): void => {
    for (const queue of queues) awakened.add(queue);
  };
  const answer = await work({ ...context, connection: session, wake });
  if (awakened.size > 0) await session.run(notifyWithin, [channel, payloadOf([...awakened])]);
  return answer;
}

/** Two statements outside of a transaction are two transactions. */
async function refuseAutocommit(session: UserSession): Promise<void> {
  const [first] = await session.run(transactionId);
  const [second] = await session.run(transactionId);
  if (textOf(first?.[0]) === textOf(second?.[0])) return;
  throw txInvalid({
    got: 'a pg client that is in no transaction',
    fix: 'Run "begin" on it first and await that, then pass the same client',
  });
}
