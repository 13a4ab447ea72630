import type { Migration } from '../../migrate/migration.js';

export const makeVersions = `
  create table if not exists millrace_schema (
    version integer primary key,
    title text not null,
    oldest_code integer not null,
    applied_at integer not null
  ) strict`;

export const hasVersions = `select 1 from sqlite_schema where type = 'table' and name = 'millrace_schema'`;

export const newestVersion =
  'select version, oldest_code as oldestCode from millrace_schema order by version desc limit 1';

/** As text, since `migrate --sql` prints it too. Titles hold no quotes. */
export const recordMigration = ({ number, title, oldestCode }: Migration): string =>
  `insert into millrace_schema (version, title, oldest_code, applied_at)
values (${number}, '${title}', ${oldestCode}, cast(unixepoch('subsec') * 1000 as integer));`;

/** Empty for a database in memory. */
export const mainFile = `select file from pragma_database_list where name = 'main'`;
