import { nowMs, probe, type Schema, type Statement } from '../statement.js';

const columns = 'f.id, f.job, f.name, f.type, f.size, f.sha256, f.created_at';

const isKnown = (s: Schema, job: string): string =>
  `(exists (select 1 from ${s}.jobs j where ${probe('j.id', job)}) or exists (select 1 from ${s}.history h where ${probe('h.id', job)}))`;

export const fileQueries = (s: Schema) =>
  ({
    /** Keeps the lease, and puts additions to one job in a row. Needs jobs_id. $1 job, $2 token */
    hold: {
      name: 'millrace_file_hold',
      text: `select 1 from ${s}.jobs j where j.id = $1::uuid and j.token = $2::uuid for update`,
    },
    /** Those of the job but the one that is replaced. Needs files_name. $1 job, $2 name */
    others: {
      name: 'millrace_file_others',
      text: `select count(*), coalesce(sum(f.size), 0) from ${s}.files f where f.job = $1::uuid and f.name <> $2`,
    },
    /** Needs files_name. $1 job, $2 name */
    removeNamed: {
      name: 'millrace_file_remove_named',
      text: `delete from ${s}.files where job = $1::uuid and name = $2`,
    },
    /** $1 id, $2 job, $3 name, $4 type, $5 size, $6 hash, $7 offset */
    insert: {
      name: 'millrace_file_insert',
      text: `insert into ${s}.files as f (id, job, name, type, size, sha256, created_at)
      values ($1::uuid, $2::uuid, $3, $4, $5::bigint, $6, ${nowMs('$7')}) returning ${columns}`,
    },
    /** Needs files_name. $1 job */
    ofJob: {
      name: 'millrace_files',
      text: `select ${columns} from ${s}.files f where f.job = $1::uuid order by f.name`,
    },
    /** Needs files_id, jobs_id, history_id. $1 id */
    one: {
      name: 'millrace_file',
      text: `select ${columns} from ${s}.files f where f.id = $1::uuid and ${isKnown(s, 'f.job')}`,
    },
    /** Answers how many went, how many were looked at, and the last of these. Needs files_id, jobs_id, history_id. $1 after, $2 limit */
    sweep: {
      name: 'millrace_file_sweep',
      text: `with page as (select f.id, f.job from ${s}.files f where f.id > $1::uuid order by f.id limit $2::int),
      gone as (delete from ${s}.files f where f.id = any(array(select p.id from page p where not ${isKnown(s, 'p.job')})) returning 1)
      select (select count(*) from gone), (select count(*) from page), (select max(p.id::text) from page p)`,
    },
    /** Needs files_content. $1 hashes */
    kept: {
      name: 'millrace_file_contents',
      text: `select n.hash from unnest($1::text[]) n(hash)
      where exists (select 1 from ${s}.files f where ${probe('f.sha256', 'n.hash')})`,
    },
    /** $1 id */
    proposeStore: {
      name: 'millrace_file_store_propose',
      text: `insert into ${s}.file_store (one, id) values (1, $1) on conflict (one) do nothing`,
    },
    storeId: { name: 'millrace_file_store', text: `select id from ${s}.file_store where one = 1` },
  }) satisfies Record<string, Statement>;
