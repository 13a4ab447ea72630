import { hasErrorCode } from '../../internal/errors.js';
import {
  connectionsDiagnosis,
  type Diagnosis,
  durabilityDiagnosis,
  fine,
  transactionDiagnosis,
} from '../diagnosis.js';
import type { Session } from './session.js';
import { sql } from './sql.js';

/** Looks at the server from an operator's side. Changes nothing. */
export async function diagnose(side: Session): Promise<Diagnosis[]> {
  const doing = 'looking at the server';
  const [status] = await side.send(doing, sql`show global status like 'Threads_connected'`);
  const [variables] = await side.send(
    doing,
    sql`select @@max_connections, @@global.read_only, @@global.innodb_flush_log_at_trx_commit,
      @@global.sync_binlog, @@global.log_bin, @@global.binlog_format`,
  );
  const [most, isReadOnly, flushLog, syncBinlog, hasBinlog] = (variables?.rows[0] ?? []).map(Number);
  const lax = [
    ...(flushLog === 1 ? [] : [`innodb_flush_log_at_trx_commit is ${flushLog}`]),
    ...(hasBinlog === 1 && syncBinlog !== 1 ? [`sync_binlog is ${syncBinlog}`] : []),
  ];
  return [
    isReadOnly === 1
      ? {
          check: 'writable',
          status: 'fail',
          message: 'this server is read-only',
          fix: 'Connect to the primary',
        }
      : fine('writable', 'this server takes writes'),
    await oldestTransaction(side),
    connectionsDiagnosis(Number(status?.rows[0]?.[1]), most ?? 0),
    durabilityDiagnosis(lax),
    binlogDiagnosis(hasBinlog === 1, String(variables?.rows[0]?.[5])),
  ];
}

async function oldestTransaction(side: Session): Promise<Diagnosis> {
  try {
    // trx_started is in the zone of the server, whatever the session's is.
    const [result] = await side.send(
      'looking at transactions',
      sql`select timestampdiff(second, trx_started, convert_tz(utc_timestamp(), '+00:00', 'SYSTEM')), trx_mysql_thread_id
        from information_schema.innodb_trx where trx_mysql_thread_id <> connection_id() order by trx_started limit 1`,
    );
    const row = result?.rows[0];
    return transactionDiagnosis(
      row === undefined ? null : Number(row[0]) * 1000,
      `thread ${String(row?.[1])}`,
    );
  } catch (error) {
    if (!hasErrorCode(error, 'database-access-denied')) throw error;
    return {
      check: 'long transactions',
      status: 'warn',
      message: 'this user may not see them',
      fix: 'Grant it PROCESS, which only lets it look',
    };
  }
}

/** With READ COMMITTED, InnoDB refuses every write that would be logged as a statement. */
function binlogDiagnosis(hasBinlog: boolean, format: string): Diagnosis {
  if (!hasBinlog) return fine('binary log', 'there is none');
  if (format !== 'STATEMENT') return fine('binary log', `its format is ${format}`);
  return {
    check: 'binary log',
    status: 'fail',
    message: 'its format is STATEMENT, with which no job can be written',
    fix: 'Set binlog_format to ROW or MIXED',
  };
}
