import {
  connectionsDiagnosis,
  type Diagnosis,
  durabilityDiagnosis,
  fine,
  transactionDiagnosis,
} from '../diagnosis.js';
import { boolOf, type Executor, intOf, intOrNull, type Statement, textOf } from './statement.js';

/** One row about the server; of transactions only those of this database, which alone hold back its vacuum. */
const serverQuery: Statement = {
  name: 'millrace_diagnose',
  text: `select (select count(*) from pg_stat_activity where backend_type = 'client backend'),
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
      pg_is_in_recovery(), current_setting('fsync'), current_setting('synchronous_commit')`,
};

const oldestTransactionQuery: Statement = {
  name: 'millrace_diagnose_transactions',
  text: `select (extract(epoch from clock_timestamp() - started) * 1000)::bigint, who from (
        select xact_start as started, 'pid ' || pid || ', ' || coalesce(nullif(application_name, ''), usename, 'unknown') || ', ' || coalesce(state, '') as who
          from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'
        union all
        select prepared, 'prepared transaction ' || gid from pg_prepared_xacts where database = current_database()
      ) t order by started limit 1`,
};

/** Looks at the server from an operator's side. Changes nothing. */
export async function diagnose(executor: Executor): Promise<Diagnosis[]> {
  const [server = []] = await executor.run(serverQuery);
  const [oldest] = await executor.run(oldestTransactionQuery);
  const [used, most, isStandby, fsync, synchronousCommit] = server;
  const lax = [
    ...(fsync === 'off' ? ['fsync is off'] : []),
    ...(synchronousCommit === 'off' ? ['synchronous_commit is off'] : []),
  ];
  return [
    boolOf(isStandby)
      ? {
          check: 'writable',
          status: 'fail',
          message: 'this server is a standby and takes no writes',
          fix: 'Connect to the primary',
        }
      : fine('writable', 'this server takes writes'),
    transactionDiagnosis(intOrNull(oldest?.[0]), textOf(oldest?.[1])),
    connectionsDiagnosis(intOf(used), intOf(most)),
    durabilityDiagnosis(lax),
  ];
}
