import { MillraceError } from '../../internal/errors.js';
import { uuidToBytes } from '../../internal/uuid.js';
import type { LogLine, NewLogLine } from '../job-log.js';
import type { Connection } from './connection.js';
import * as sql from './queries/log.js';
import { tokenToBytes } from './tokens.js';
import type { Transaction } from './transaction.js';

const maxLines = 1_000;
const maxBytes = 256 * 1024;

interface OpenLog {
  readonly row: number;
  readonly lease: number;
  lines: number;
  bytes: number;
}

/** Lines of a lost lease, repeats and what goes beyond the job's share are dropped. */
export function appendLog(tx: Transaction, lines: readonly NewLogLine[]): void {
  const logs = new Map<string, OpenLog | null>();
  for (const line of lines) {
    const key = `${line.id} ${line.token}`;
    let log = logs.get(key);
    if (log === undefined) {
      log = openLog(tx.db, line);
      logs.set(key, log);
    }
    if (log !== null) appendLine(tx, log, line);
  }
}

function openLog(db: Connection, line: NewLogLine): OpenLog | null {
  const lease = db.get<{ row: number; lease: number }>(
    sql.leaseOf,
    uuidToBytes(line.id),
    tokenToBytes(line.token),
  );
  if (lease === undefined) return null;
  const size = db.get<{ lines: number; bytes: number }>(sql.sizeOf, lease.row);
  return { ...lease, lines: size?.lines ?? 0, bytes: size?.bytes ?? 0 };
}

function appendLine(tx: Transaction, log: OpenLog, line: NewLogLine): void {
  const bytes = Buffer.byteLength(line.text);
  if (log.lines >= maxLines || log.bytes + bytes > maxBytes) return;
  if (tx.db.value(sql.isKnown, log.row, log.lease, line.seq) !== undefined) return;
  tx.db.run(sql.insertLine, log.row, log.lease, line.seq, bytes, tx.nowMs, line.kind, line.level, line.text);
  log.lines += 1;
  log.bytes += bytes;
}

export function log(
  db: Connection,
  id: string,
  page: { readonly after?: string; readonly limit: number },
): LogLine[] {
  const [afterLease, afterSeq] = page.after === undefined ? [0, 0] : parseCursor(page.after);
  const row = db.value<number>(sql.rowOf, uuidToBytes(id));
  if (row === undefined) return [];
  const lines = db.all<Omit<LogLine, 'cursor' | 'atMs'> & { lease: number; at: number }>(
    sql.linesAfter,
    row,
    afterLease,
    afterSeq,
    page.limit,
  );
  return lines.map(({ lease, seq, at, kind, level, text }) => ({
    cursor: `${lease}.${seq}`,
    seq,
    atMs: at,
    kind,
    level,
    text,
  }));
}

function parseCursor(cursor: string): [number, number] {
  const match = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor);
  if (match === null) {
    throw new MillraceError('cursor-invalid', `cursor: expected the cursor of a log line, got "${cursor}"`);
  }
  return [Number(match[1]), Number(match[2])];
}
