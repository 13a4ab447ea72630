import type { Connection } from './connection.js';
import * as sql from './queries/payloads.js';

/**
 * SQLite writes a whole row at each change of it. From this length on a payload stands in a table of its own: at 1 MB a
 * claim and a settle took 10 ms together with it in the row [measured].
 */
const longestInRow = 16_384;

export const isLong = (payload: string): boolean => payload.length > longestInRow;

/** What `jobs.payload` is for a long one; no JSON text is empty. */
export const keptApart = '';

export function keepApart(db: Connection, row: number, payload: string): void {
  db.run(sql.insertPayload, row, payload);
}

/** The payload of a job (its id as bytes or as hexadecimal digits), given what stands in its row. */
export function payloadOf(db: Connection, id: Buffer | string, inRow: string): string {
  if (inRow !== keptApart) return inRow;
  const bytes = typeof id === 'string' ? Buffer.from(id, 'hex') : id;
  return db.value<string>(sql.payloadOf, bytes) ?? inRow;
}
