import { bytesToUuid, uuidToBytes } from '../../internal/uuid.js';
import type { FileAddition, FileAdditionOutcome, FileRecord, FileSweep } from '../job-file.js';
import type { Connection } from './connection.js';
import * as sql from './queries/files.js';
import { tokenToBytes } from './tokens.js';
import type { Transaction } from './transaction.js';

interface FileRow {
  readonly id: Buffer;
  readonly job: Buffer;
  readonly name: string;
  readonly type: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
  readonly createdAtMs: number;
}

export function addFile(
  { db, nowMs }: Transaction,
  { lease, file, ...most }: FileAddition,
): FileAdditionOutcome {
  const job = uuidToBytes(lease.id);
  if (db.value(sql.isHeld, job, tokenToBytes(lease.token)) === undefined) return { outcome: 'lease-lost' };
  const others = db.get<{ count: number; sizeBytes: number }>(sql.others, job, file.name);
  const { count, sizeBytes } = others ?? { count: 0, sizeBytes: 0 };
  if (count >= most.mostFiles || sizeBytes + file.sizeBytes > most.mostBytes) {
    return { outcome: 'full', sizeBytes, count };
  }
  db.run(sql.removeNamed, job, file.name);
  const { name, type, sha256 } = file;
  const hash = Buffer.from(sha256, 'hex');
  db.run(sql.insert, uuidToBytes(file.id), job, name, type, file.sizeBytes, hash, nowMs);
  return { outcome: 'done', file: { ...file, jobId: lease.id, createdAtMs: nowMs } };
}

export function files(db: Connection, jobId: string): FileRecord[] {
  return db.all<FileRow>(sql.ofJob, uuidToBytes(jobId)).map(fileOf);
}

export function file(db: Connection, id: string): FileRecord | null {
  const row = db.get<FileRow>(sql.one, uuidToBytes(id));
  return row === undefined ? null : fileOf(row);
}

export function sweepFiles({ db }: Transaction, after: string | null, limit: number): FileSweep {
  const from = after === null ? Buffer.alloc(0) : uuidToBytes(after);
  const page = db.all<{ id: Buffer; isKept: number }>(sql.page, from, limit);
  const gone = page.filter(({ isKept }) => isKept === 0);
  for (const { id } of gone) db.run(sql.remove, id);
  const last = page.at(-1);
  return {
    removed: gone.length,
    next: last === undefined || page.length < limit ? null : bytesToUuid(last.id),
  };
}

export function keptContents(db: Connection, hashes: readonly string[]): string[] {
  return hashes.filter((hash) => db.value(sql.isKept, Buffer.from(hash, 'hex')) !== undefined);
}

export function fileStoreId({ db }: Transaction, proposed: string | null): string | null {
  if (proposed !== null) db.run(sql.proposeStore, proposed);
  return db.value<string>(sql.storeId) ?? null;
}

function fileOf({ id, job, sha256, ...rest }: FileRow): FileRecord {
  return { id: bytesToUuid(id), jobId: bytesToUuid(job), sha256: sha256.toString('hex'), ...rest };
}
