import type { FileAddition, FileAdditionOutcome, FileRecord, FileSweep } from '../job-file.js';
import { byId, type MemoryState } from './state.js';

export function addFile(state: MemoryState, { lease, file, ...most }: FileAddition): FileAdditionOutcome {
  if (state.jobs.get(lease.id)?.lease?.token !== lease.token) return { outcome: 'lease-lost' };
  const others = files(state, lease.id).filter(({ name }) => name !== file.name);
  const sizeBytes = others.reduce((sum, other) => sum + other.sizeBytes, 0);
  const count = others.length;
  if (count >= most.mostFiles || sizeBytes + file.sizeBytes > most.mostBytes) {
    return { outcome: 'full', sizeBytes, count };
  }
  const added = { ...file, jobId: lease.id, createdAtMs: state.now() };
  const kept = [...state.files.values()].filter(
    ({ jobId, name }) => jobId !== lease.id || name !== file.name,
  );
  state.files = new Map([...kept, added].map((each) => [each.id, each]));
  return { outcome: 'done', file: added };
}

export function files(state: MemoryState, jobId: string): FileRecord[] {
  return [...state.files.values()]
    .filter((file) => file.jobId === jobId)
    .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}

export function file(state: MemoryState, id: string): FileRecord | null {
  const found = state.files.get(id);
  return found !== undefined && state.jobs.has(found.jobId) ? found : null;
}

export function sweepFiles(
  state: MemoryState,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): FileSweep {
  const page = [...state.files.values()]
    .sort(byId)
    .filter(({ id }) => after === null || id > after)
    .slice(0, limit);
  const gone = page.filter(({ jobId }) => !state.jobs.has(jobId));
  for (const { id } of gone) state.files.delete(id);
  return { removed: gone.length, next: page.length < limit ? null : (page.at(-1)?.id ?? null) };
}

export function keptContents(state: MemoryState, hashes: readonly string[]): string[] {
  const kept = new Set([...state.files.values()].map(({ sha256 }) => sha256));
  return hashes.filter((hash) => kept.has(hash));
}

export function fileStoreId(state: MemoryState, proposed: string | null): string | null {
  state.fileStoreId ??= proposed;
  return state.fileStoreId;
}
