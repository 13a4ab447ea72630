import { type AsyncHandle, type Dialect, hasMethods, membersOf } from './handle.js';
import { txInvalid } from './tx-errors.js';

interface Answer {
  readonly rows: readonly object[];
  readonly numAffectedRows?: bigint;
}

interface Kysely {
  readonly isTransaction: boolean;
  executeQuery(query: object): Promise<Answer>;
  getExecutor(): { readonly adapter: object };
  withoutPlugins?(): Kysely;
}

/** A transaction of Kysely. Without its plugins, which may rename columns and parse texts. */
export function kyselyHandle(tx: object): AsyncHandle | null {
  if (typeof membersOf(tx)['isTransaction'] !== 'boolean' || !hasMethods(tx, 'executeQuery', 'getExecutor'))
    return null;
  const given = tx as unknown as Kysely;
  if (!given.isTransaction) {
    throw txInvalid({
      got: 'a Kysely instance that is in no transaction',
      fix: 'Pass the object that db.transaction().execute(async (trx) => …) or db.startTransaction().execute() gives you',
    });
  }
  const kysely = given.withoutPlugins?.() ?? given;
  const dialect = dialectOf(kysely.getExecutor().adapter);
  return {
    mode: 'async',
    label: `a Kysely transaction of ${dialect}`,
    dialect,
    identity: tx,
    async run(sql, values) {
      const { rows, numAffectedRows } = await kysely.executeQuery(compiled(sql, values));
      return { rows, changed: Number(numAffectedRows ?? 0) };
    },
  };
}

/** As Kysely's own `CompiledQuery.raw` makes it. */
function compiled(sql: string, parameters: readonly unknown[]): object {
  return {
    sql,
    parameters,
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
    queryId: { queryId: 'millrace' },
  };
}

/** By what the adapter says it can, since a class name may have been shortened by a bundler. */
function dialectOf(adapter: object): Dialect {
  const { supportsReturning, supportsTransactionalDdl, supportsOutput } = membersOf(adapter);
  if (supportsReturning === true) return supportsTransactionalDdl === true ? 'postgres' : 'sqlite';
  if (supportsOutput !== true && supportsTransactionalDdl !== true) return 'mysql';
  throw txInvalid({
    got: 'a Kysely transaction of another kind of database',
    fix: 'Use one of PostgreSQL, MySQL or SQLite, on the database that holds the jobs',
  });
}
