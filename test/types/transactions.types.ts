/** Checked by the compiler alone: an error that is expected and doesn't come is an error. */
import type Database from 'better-sqlite3';
import type { drizzle as drizzleSqlite } from 'drizzle-orm/better-sqlite3';
import type { drizzle as drizzleMysql } from 'drizzle-orm/mysql2';
import type { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import type { ControlledTransaction, Kysely, Transaction } from 'kysely';
import type callbackMysql from 'mysql2';
import type mysql from 'mysql2/promise';
import type pg from 'pg';
import { defineJob, type JobContext, type JobHandle, Millrace } from '../../src/index.js';
import type { Prisma } from '../integration/transactions/prisma/generated/postgresql/client.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const expectType = <Expected>() => ({
  of: <Got>(_value: Got, _isEqual: Equal<Got, Expected>): void => undefined,
});

interface Tables {
  readonly orders: { readonly id: string };
}

type PgTx = Parameters<Parameters<ReturnType<typeof drizzlePg>['transaction']>[0]>[0];
type MysqlTx = Parameters<Parameters<ReturnType<typeof drizzleMysql>['transaction']>[0]>[0];
type SqliteTx = Parameters<Parameters<ReturnType<typeof drizzleSqlite>['transaction']>[0]>[0];

interface AwaitedHandles {
  readonly pgClient: pg.Client;
  readonly pgPoolClient: pg.PoolClient;
  readonly mysqlConnection: mysql.Connection;
  readonly mysqlPoolConnection: mysql.PoolConnection;
  readonly mysqlCallbacks: callbackMysql.Connection;
  readonly kysely: Transaction<Tables>;
  readonly kyselyControlled: ControlledTransaction<Tables>;
  readonly drizzlePg: PgTx;
  readonly drizzleMysql: MysqlTx;
  readonly prisma: Prisma.TransactionClient;
}

interface Synchronous {
  readonly database: Database.Database;
  readonly drizzle: SqliteTx;
}

const mail = defineJob('mail', {
  run: ({ input }: JobContext<{ to: string }>) => ({ sent: input.to }),
});
const nothing = defineJob('nothing', { run: () => 1 });
const millrace = new Millrace({ jobs: [mail, nothing] });
const input = { to: 'a' };

export async function awaited(on: AwaitedHandles): Promise<void> {
  await millrace.dispatch(mail, input, { tx: on.pgClient });
  await millrace.dispatch('mail', input, { tx: on.pgPoolClient, priority: 'high', unique: true });
  await millrace.dispatch(mail, input, { tx: on.mysqlConnection });
  await millrace.dispatch(mail, input, { tx: on.mysqlPoolConnection });
  await millrace.dispatch(mail, input, { tx: on.mysqlCallbacks });
  await millrace.dispatch(mail, input, { tx: on.kysely });
  await millrace.dispatch(mail, input, { tx: on.kyselyControlled });
  await millrace.dispatch(mail, input, { tx: on.drizzlePg });
  await millrace.dispatch(mail, input, { tx: on.drizzleMysql });
  await millrace.dispatch(mail, input, { tx: on.prisma });
  const handle = await millrace.dispatch('mail', input, { tx: on.kysely });
  expectType<JobHandle<{ sent: string }>>().of(handle, true);
  const [one] = await millrace.dispatchMany([{ job: mail, input }], { tx: on.pgClient });
  expectType<JobHandle<{ sent: string }>>().of(one, true);
  await handle.cancel({ tx: on.kysely });
  await millrace.retry(handle.id, { tx: on.kysely });
  await millrace.edit(handle.id, { priority: 'high' }, { tx: on.kysely });
  // @ts-expect-error The input is as strict as ever.
  await millrace.dispatch(mail, { to: 1 }, { tx: on.kysely });
  // @ts-expect-error One entry can't have a transaction of its own.
  await millrace.dispatchMany([{ job: mail, input, options: { tx: on.kysely } }]);
  // @ts-expect-error The result can't come before the commit.
  await millrace.dispatchAndWait(mail, input, { tx: on.kysely });
}

export async function wrong(on: {
  readonly pgPool: pg.Pool;
  readonly mysqlPool: mysql.Pool;
  readonly kysely: Kysely<Tables>;
  readonly drizzle: ReturnType<typeof drizzlePg>;
  readonly sync: Synchronous;
  readonly async: AwaitedHandles;
}): Promise<void> {
  // @ts-expect-error A pool may take another connection for each statement.
  await millrace.dispatch(mail, input, { tx: on.pgPool });
  // The types of mysql2 say that a pool can do what a connection can: it is refused when it comes.
  await millrace.dispatch(mail, input, { tx: on.mysqlPool });
  // @ts-expect-error Not a transaction.
  await millrace.dispatch(mail, input, { tx: on.kysely });
  // @ts-expect-error Not a transaction.
  await millrace.dispatch(mail, input, { tx: on.drizzle });
  // @ts-expect-error Its statements are not awaited: dispatchSync.
  await millrace.dispatch(mail, input, { tx: on.sync.database });
  // @ts-expect-error Nothing at all.
  await millrace.dispatch(mail, input, { tx: 'tx' });
  // @ts-expect-error Must be awaited: dispatch.
  millrace.dispatchSync(mail, input, { tx: on.async.kysely });
  // @ts-expect-error Without a transaction there is no reason for it.
  millrace.dispatchSync(mail, input);
}

export function synchronous({ database, drizzle }: Synchronous): void {
  expectType<JobHandle<{ sent: string }>>().of(millrace.dispatchSync(mail, input, { tx: database }), true);
  millrace.dispatchSync('nothing', undefined, { tx: drizzle, delay: '5m' });
  const [one] = millrace.dispatchManySync([{ job: mail, input }], { tx: drizzle });
  expectType<JobHandle<{ sent: string }>>().of(one, true);
  expectType<string>().of(one.id, true);
  millrace.controlSync('cancel', one.id, { tx: database });
  millrace.editSync(one.id, { priority: 'high', input: { to: 'b' } }, { tx: drizzle });
  // @ts-expect-error Only inside a transaction; without one there is edit.
  millrace.editSync(one.id, { priority: 'high' });
  // @ts-expect-error No such change.
  millrace.controlSync('forget', one.id, { tx: database });
  // @ts-expect-error The input is as strict as ever.
  millrace.dispatchSync(mail, {}, { tx: database });
}

export const settling = defineJob('settling', {
  async run(context: JobContext<{ tx: AwaitedHandles; sync: Synchronous; pool: pg.Pool }>) {
    const { tx, sync, pool } = context.input;
    expectType<Promise<void>>().of(context.settleIn(tx.pgClient, { any: 'value' }), true);
    await context.settleIn(tx.kysely);
    await context.settleIn(tx.drizzleMysql, 1);
    expectType<void>().of(context.settleInSync(sync.database, 1), true);
    context.settleInSync(sync.drizzle);
    // @ts-expect-error A pool.
    await context.settleIn(pool, 1);
    // @ts-expect-error Not awaited: settleInSync.
    await context.settleIn(sync.database);
    // @ts-expect-error Must be awaited: settleIn.
    context.settleInSync(tx.pgClient);
    await context.dispatch(mail, input, { tx: tx.kysely });
  },
});
