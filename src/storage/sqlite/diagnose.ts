import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Diagnosis, fine } from '../diagnosis.js';
import type { Connection } from './connection.js';

/** From Linux's magic.h: locks on these are not to be trusted, and a WAL needs memory shared between processes. */
const networkFileSystems = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x517b, 'SMB'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9P'],
]);
const largeWalBytes = 256 * 1024 * 1024;

/** Looks at the file from an operator's side. Changes nothing. */
export function diagnose(db: Connection): Diagnosis[] {
  if (db.isInMemory) return [];
  return [permissions(db.file), fileSystem(db.file), journal(db)];
}

function permissions(file: string): Diagnosis {
  const check = 'file permissions';
  const folder = dirname(file);
  const locked = [file, `${file}-wal`, `${file}-shm`, folder].filter(
    (path) => existsSync(path) && !isWritable(path),
  );
  if (locked.length > 0) {
    return {
      check,
      status: 'fail',
      message: `this user cannot write ${locked.join(', ')}`,
      fix: 'Give the user of clients and workers the right to write the file and its folder',
    };
  }
  const mode = statSync(file).mode & 0o777;
  const text = `${file} is ${mode.toString(8)}`;
  if ((mode & 0o002) === 0) return fine(check, text);
  return { check, status: 'warn', message: `${text}: anyone can write it`, fix: `Run: chmod o-w ${file}` };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    // What keeps us from writing does not matter to the answer.
    return false;
  }
}

function fileSystem(file: string): Diagnosis {
  const check = 'file system';
  const name = networkFileSystems.get(statfsSync(file).type);
  if (name === undefined) return fine(check, 'is local');
  return {
    check,
    status: 'warn',
    message: `the file is on a network or user-space file system (${name})`,
    fix: 'Move it to a local disk, or use PostgreSQL or MySQL where several machines share the jobs',
  };
}

function journal(db: Connection): Diagnosis {
  const check = 'write-ahead log';
  const mode = db.value<string>('pragma journal_mode');
  if (mode !== 'wal') {
    return {
      check,
      status: 'warn',
      message: `journal_mode is ${mode}, so readers and writers wait for each other`,
      fix: 'Move the file to a disk on which SQLite can keep a WAL',
    };
  }
  const wal = `${db.file}-wal`;
  const bytes = existsSync(wal) ? statSync(wal).size : 0;
  const text = `is ${Math.ceil(bytes / 1024)} KB`;
  if (bytes < largeWalBytes) return fine(check, text);
  return {
    check,
    status: 'warn',
    message: `${text}: a transaction that stays open keeps it from being written back`,
    fix: 'End the process that keeps a transaction open',
  };
}
