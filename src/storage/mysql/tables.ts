import { identifier, type Sql } from './sql.js';

const names = [
  'jobs',
  'ready',
  'leases',
  'waiting',
  'finals',
  'marks',
  'edges',
  'tags',
  'keys',
  'counts',
  'deltas',
  'queues',
  'names',
  'lanes',
  'log',
  'workers',
  'hubs',
  'tokens',
  'files',
  'filestore',
  'audit',
  'duties',
  'gates',
  'lines',
  'members',
  'slots',
  'profiles',
  'schema',
] as const;

/** The quoted name of each table, by what it holds. The columns are explained in `migrations/`. */
export type Tables = Readonly<Record<(typeof names)[number], Sql>>;

export function tablesWith(prefix: string): Tables {
  return Object.fromEntries(names.map((name) => [name, identifier(`${prefix}${name}`)])) as Tables;
}
