import { isUuid } from '../../internal/uuid.js';
import type { FileAddition, FileAdditionOutcome, FileRecord, FileSweep } from '../job-file.js';
import { textArray } from './arrays.js';
import type { Context } from './context.js';
import { fileQueries } from './queries/files.js';
import { intOf, type Row, textOf } from './statement.js';

const beforeAll = '00000000-0000-0000-0000-000000000000';

export class Files {
  readonly #context: Context;
  readonly #queries: ReturnType<typeof fileQueries>;

  constructor(context: Context) {
    this.#context = context;
    this.#queries = fileQueries(context.schema);
  }

  add({ lease, file, ...most }: FileAddition): Promise<FileAdditionOutcome> {
    const { connection, offsetMs } = this.#context;
    const queries = this.#queries;
    return connection.transaction('adding a file', async (tx): Promise<FileAdditionOutcome> => {
      const held = await tx.run(queries.hold, [lease.id, lease.token]);
      if (held.length === 0) return { outcome: 'lease-lost' };
      const [others] = await tx.run(queries.others, [lease.id, file.name]);
      const [count, sizeBytes] = [intOf(others?.[0]), intOf(others?.[1])];
      if (count >= most.mostFiles || sizeBytes + file.sizeBytes > most.mostBytes) {
        return { outcome: 'full', sizeBytes, count };
      }
      await tx.run(queries.removeNamed, [lease.id, file.name]);
      const { id, name, type, sha256 } = file;
      const values = [id, lease.id, name, type, file.sizeBytes, sha256, offsetMs()];
      const [row] = await tx.run(queries.insert, values);
      return { outcome: 'done', file: fileOf(row ?? []) };
    });
  }

  async ofJob(jobId: string): Promise<FileRecord[]> {
    if (!isUuid(jobId)) return [];
    return (await this.#context.connection.run(this.#queries.ofJob, [jobId])).map(fileOf);
  }

  async one(id: string): Promise<FileRecord | null> {
    if (!isUuid(id)) return null;
    const [row] = await this.#context.connection.run(this.#queries.one, [id]);
    return row === undefined ? null : fileOf(row);
  }

  async sweep({ after, limit }: { after: string | null; limit: number }): Promise<FileSweep> {
    const values = [after ?? beforeAll, limit];
    const [row] = await this.#context.connection.run(this.#queries.sweep, values);
    const [removed, seen, last] = row ?? [];
    return { removed: intOf(removed), next: intOf(seen) < limit ? null : textOf(last) };
  }

  async kept(hashes: readonly string[]): Promise<string[]> {
    if (hashes.length === 0) return [];
    const rows = await this.#context.connection.run(this.#queries.kept, [textArray(hashes)]);
    return rows.map(([hash]) => textOf(hash));
  }

  async storeId(proposed: string | null): Promise<string | null> {
    const { connection } = this.#context;
    if (proposed !== null) await connection.run(this.#queries.proposeStore, [proposed]);
    const [row] = await connection.run(this.#queries.storeId);
    return row?.[0] ?? null;
  }
}

function fileOf([id, job, name, type, size, sha256, createdAt]: Row): FileRecord {
  return {
    id: textOf(id),
    jobId: textOf(job),
    name: textOf(name),
    type: textOf(type),
    sizeBytes: intOf(size),
    sha256: textOf(sha256),
    createdAtMs: intOf(createdAt),
  };
}
