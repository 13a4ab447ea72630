import { bytesToUuid } from '../../internal/uuid.js';
import type { FileAddition, FileAdditionOutcome, FileRecord, FileSweep } from '../job-file.js';
import type { Context } from './context.js';
import * as queries from './queries/files.js';

export function addFile(
  context: Context,
  { lease, file, ...most }: FileAddition,
): Promise<FileAdditionOutcome> {
  const { t, side } = context;
  return side.transaction('adding a file', async (tx): Promise<FileAdditionOutcome> => {
    const [held] = await tx.send(queries.holdLease(t, lease.id, lease.token));
    if ((held?.rows.length ?? 0) === 0) return { outcome: 'lease-lost' };
    const [others] = await tx.send(queries.otherFiles(t, lease.id, file.name));
    const [count, sizeBytes] = (others?.rows[0] ?? []).map(Number) as [number, number];
    if (count >= most.mostFiles || sizeBytes + file.sizeBytes > most.mostBytes) {
      return { outcome: 'full', sizeBytes, count };
    }
    await tx.send(queries.removeNamed(t, lease.id, file.name));
    await tx.send(queries.insertFile(t, { jobId: lease.id, file, now: context.now() }));
    const [added] = await tx.send(queries.readFile(t, file.id));
    return { outcome: 'done', file: fileOf(added?.rows[0] ?? []) };
  });
}

export async function files({ t, side }: Context, jobId: string): Promise<FileRecord[]> {
  const [result] = await side.send('reading files', queries.filesOf(t, jobId));
  return (result?.rows ?? []).map(fileOf);
}

export async function file({ t, side }: Context, id: string): Promise<FileRecord | null> {
  const [result] = await side.send('reading a file', queries.readFile(t, id));
  const row = result?.rows[0];
  return row === undefined ? null : fileOf(row);
}

export async function sweepFiles(
  { t, side }: Context,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<FileSweep> {
  const [page] = await side.send('sweeping files', queries.filePage(t, after, limit));
  const rows = (page?.rows ?? []).map(([id, isKept]) => ({
    id: bytesToUuid(id as Buffer),
    isKept: Number(isKept) === 1,
  }));
  const gone = rows.filter(({ isKept }) => !isKept).map(({ id }) => id);
  // A job never comes back under its id, so nothing can change between the look and this.
  if (gone.length > 0) await side.send('removing files', queries.removeFiles(t, gone));
  return { removed: gone.length, next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}

export async function keptContents({ t, side }: Context, hashes: readonly string[]): Promise<string[]> {
  if (hashes.length === 0) return [];
  const [result] = await side.send('looking for contents', queries.keptHashes(t, hashes));
  return (result?.rows ?? []).map(([hash]) => (hash as Buffer).toString('hex'));
}

export async function fileStoreId({ t, side }: Context, proposed: string | null): Promise<string | null> {
  if (proposed !== null) await side.send('proposing a file store', queries.proposeStore(t, proposed));
  const [result] = await side.send('reading the file store', queries.readStore(t));
  const id = result?.rows[0]?.[0];
  return id === undefined ? null : String(id);
}

function fileOf([id, job, name, type, size, sha256, createdAt]: readonly unknown[]): FileRecord {
  return {
    id: bytesToUuid(id as Buffer),
    jobId: bytesToUuid(job as Buffer),
    name: String(name),
    type: String(type),
    sizeBytes: Number(size),
    sha256: (sha256 as Buffer).toString('hex'),
    createdAtMs: Number(createdAt),
  };
}
