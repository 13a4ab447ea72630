import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { debianPostgresFolders, findProgram, unprivilegedIdentity } from './binaries.js';
import type { EngineAdapter, PrivateServer } from './engine.js';
import { freePort, runToEnd, startServer } from './private-process.js';

const CONNECT_TIMEOUT_MS = 5_000;

export const postgres: EngineAdapter = {
  environmentName: 'MILLRACE_TEST_POSTGRES',
  defaultUrls: [
    'postgres://postgres@127.0.0.1:5432/postgres',
    `postgres://${encodeURIComponent(userInfo().username)}@127.0.0.1:5432/postgres`,
    `postgres://${encodeURIComponent(userInfo().username)}@localhost/postgres?host=/var/run/postgresql`,
  ],
  installCommand: 'apt-get install -y postgresql',

  async inspect(url) {
    const [role] = await query<{ version: string; allowed: boolean }>(
      url,
      `select split_part(current_setting('server_version'), ' ', 1) as version,
              rolcreatedb or rolsuper as allowed
         from pg_roles where rolname = current_user`,
    );
    if (!role?.allowed) throw new Error('its user may not create databases');
    return `PostgreSQL ${role.version}`;
  },

  async createDatabase(url, name) {
    // template0 can be copied by many at once, template1 only while nobody is connected to it.
    await query(url, `create database ${name} template template0 encoding 'UTF8'`);
    const target = new URL(url);
    target.pathname = `/${name}`;
    return target.href;
  },

  async dropDatabase(url, name) {
    await query(url, `drop database if exists ${name} with (force)`);
  },

  findDatabases(url, prefix) {
    return query(
      url,
      `select datname as name,
              exists (select 1 from pg_stat_activity a where a.datname = d.datname) as "inUse"
         from pg_database d where starts_with(datname, $1)`,
      [prefix],
    );
  },

  hasPrograms: () => findPrograms() !== undefined,
  startPrivate: startPrivatePostgres,
};

function findPrograms() {
  const initdb = findProgram('initdb', debianPostgresFolders());
  const server = initdb && findProgram('postgres', [dirname(initdb)]);
  return initdb && server ? { initdb, server } : undefined;
}

async function startPrivatePostgres(folder: string): Promise<PrivateServer> {
  const programs = findPrograms();
  if (!programs) throw new Error('no programs of a PostgreSQL server (initdb, postgres) on this machine');
  const identity = unprivilegedIdentity('postgres');
  const data = join(folder, 'data');
  const command = { folder, identity };
  await runToEnd({
    ...command,
    program: programs.initdb,
    args: ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
  });
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const stop = await startServer({
    ...command,
    program: programs.server,
    args: ['-D', data, '-p', String(port), '-k', folder, '-h', '127.0.0.1', '-c', 'max_connections=200'],
    stopSignal: 'SIGINT',
    isReady: () => query(url, 'select 1'),
  });
  return { url, stop };
}

async function query<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => {}); // a connection lost later than its query concerns nobody
  try {
    await client.connect();
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end().catch(() => {}); // the query's own error is the one to report
  }
}
