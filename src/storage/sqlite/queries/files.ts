import { boundLimit } from '../bound-limit.js';

const columns = `f.id, f.job, f.name, f.type, f.size as sizeBytes, f.sha256, f.created_at as createdAtMs`;

/** Index jobs_id. */
export const isHeld = 'select 1 from jobs indexed by jobs_id where id = ? and token = ? and status = 2';

/** Index files_name: those of the job but the one that is replaced. */
export const others = `
  select count(*) as count, coalesce(sum(size), 0) as sizeBytes from files indexed by files_name
  where job = ? and name <> ?`;

/** Index files_name. */
export const removeNamed = 'delete from files where job = ? and name = ?';

export const insert = `
  insert into files (id, job, name, type, size, sha256, created_at) values (?, ?, ?, ?, ?, ?, ?)`;

/** Index files_name, in its order. */
export const ofJob = `select ${columns} from files f indexed by files_name where f.job = ? order by f.name`;

/** By primary key; index jobs_id. */
export const one = `
  select ${columns} from files f where f.id = ? and exists (select 1 from jobs j indexed by jobs_id where j.id = f.job)`;

/** By primary key, in its order; index jobs_id. */
export const page = `
  select f.id, exists (select 1 from jobs j indexed by jobs_id where j.id = f.job) as isKept
  from files f where f.id > ? order by f.id ${boundLimit}`;

/** By primary key. */
export const remove = 'delete from files where id = ?';

/** Index files_content. */
export const isKept = 'select 1 from files indexed by files_content where sha256 = ? limit 1';

export const proposeStore = 'insert into file_store (one, id) values (1, ?) on conflict (one) do nothing';

export const storeId = 'select id from file_store where one = 1';
