import type { NewFile } from '../../job-file.js';
import { hexDigits, hexId, hexText, list, type Sql, sql } from '../sql.js';
import type { Tables } from '../tables.js';

/** Keeps the lease, and puts additions to one job in a row. Index: by_id of leases. */
export function holdLease(t: Tables, id: string, token: string): Sql {
  return sql`select 1 from ${t.leases} force index (by_id)
    where id = ${hexId(id)} and token = ${hexDigits(token, 16)} for update`;
}

/** Those of the job but the one that is replaced: count, bytes. Index: by_name (prefix). */
export function otherFiles(t: Tables, jobId: string, name: string): Sql {
  return sql`select count(*), coalesce(sum(size), 0) from ${t.files} force index (by_name)
    where job_id = ${hexId(jobId)} and name <> ${hexText(name)}`;
}

/** Index: by_name. */
export function removeNamed(t: Tables, jobId: string, name: string): Sql {
  return sql`delete from ${t.files} where job_id = ${hexId(jobId)} and name = ${hexText(name)}`;
}

export function insertFile(t: Tables, { jobId, file, now }: { jobId: string; file: NewFile; now: Sql }): Sql {
  const { id, name, type, sizeBytes, sha256 } = file;
  return sql`insert into ${t.files} (id, job_id, name, type, size, sha256, created_at)
    values (${hexId(id)}, ${hexId(jobId)}, ${hexText(name)}, ${hexText(type)}, ${sizeBytes}, ${hexDigits(sha256, 32)}, ${now})`;
}

const columns = sql`f.id, f.job_id, f.name, f.type, f.size, f.sha256, f.created_at`;

/** Index: by_name, in its order. */
export function filesOf(t: Tables, jobId: string): Sql {
  return sql`select ${columns} from ${t.files} f force index (by_name) where f.job_id = ${hexId(jobId)} order by f.name`;
}

/** Index: primary, here and of jobs. */
export function readFile(t: Tables, id: string): Sql {
  return sql`select ${columns} from ${t.files} f
    where f.id = ${hexId(id)} and exists (select 1 from ${t.jobs} j where j.id = f.job_id)`;
}

/** Id, and whether its job is there. Index: primary in order; primary of jobs. */
export function filePage(t: Tables, after: string | null, limit: number): Sql {
  const from = after === null ? sql`` : sql`where f.id > ${hexId(after)}`;
  return sql`select f.id, exists (select 1 from ${t.jobs} j where j.id = f.job_id)
    from ${t.files} f force index (primary) ${from} order by f.id limit ${limit}`;
}

/** Index: primary. */
export function removeFiles(t: Tables, ids: readonly string[]): Sql {
  return sql`delete from ${t.files} where id in ${list(ids.map(hexId))}`;
}

/** Index: by_content. */
export function keptHashes(t: Tables, hashes: readonly string[]): Sql {
  return sql`select distinct sha256 from ${t.files} force index (by_content)
    where sha256 in ${list(hashes.map((hash) => hexDigits(hash, 32)))}`;
}

export function proposeStore(t: Tables, id: string): Sql {
  return sql`insert into ${t.filestore} (one, id) values (1, ${hexText(id)}) on duplicate key update one = 1`;
}

export function readStore(t: Tables): Sql {
  return sql`select id from ${t.filestore} where one = 1`;
}
