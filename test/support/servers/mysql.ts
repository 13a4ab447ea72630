import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { findProgram, unprivilegedIdentity } from './binaries.js';
import type { EngineAdapter, FoundDatabase, PrivateServer } from './engine.js';
import { freePort, runToEnd, startServer } from './private-process.js';

const CONNECT_TIMEOUT_MS = 5_000;
const MARIADB_PREPARATION = ['--auth-root-authentication-method=normal', '--skip-test-db'];

export const mysql: EngineAdapter = {
  environmentName: 'MILLRACE_TEST_MYSQL',
  defaultUrls: [
    'mysql://root@127.0.0.1:3306/',
    'mysql://root@localhost/?socketPath=/run/mysqld/mysqld.sock',
    'mysql://root@localhost/?socketPath=/tmp/mysql.sock',
  ],
  installCommand: 'apt-get install -y mariadb-server',

  async inspect(url) {
    const [row] = await query<{ version: string }>(url, 'select version() as version');
    const text = row?.version ?? '';
    const version = /\d+\.\d+\.\d+/.exec(text)?.[0] ?? text;
    return `${text.includes('MariaDB') ? 'MariaDB' : 'MySQL'} ${version}`;
  },

  async createDatabase(url, name) {
    await query(url, `create database ${name} character set utf8mb4`);
    const target = new URL(url);
    target.pathname = `/${name}`;
    return target.href;
  },

  async dropDatabase(url, name) {
    await query(url, `drop database if exists ${name}`);
  },

  async findDatabases(url, prefix) {
    const found = await query<{ name: string; users: number }>(
      url,
      `select s.schema_name as name,
              (select count(*) from information_schema.processlist p where p.db = s.schema_name) as users
         from information_schema.schemata s where left(s.schema_name, ?) = ?`,
      [prefix.length, prefix],
    );
    return found.map(({ name, users }): FoundDatabase => ({ name, inUse: Number(users) > 0 }));
  },

  hasPrograms: () => findPrograms() !== undefined,
  startPrivate: startPrivateMysql,
};

/** Oracle's MySQL runs only where the environment names a server: Debian has no package of it. */
export const mysql8: EngineAdapter = {
  ...mysql,
  environmentName: 'MILLRACE_TEST_MYSQL8',
  defaultUrls: [],
  hasPrograms: () => false,
  startPrivate: () => Promise.reject(new Error('MySQL 8 is never started by the tests')),

  async inspect(url) {
    const version = await mysql.inspect(url);
    if (!version.startsWith('MySQL ')) throw new Error(`expected a MySQL server, got ${version}`);
    return version;
  },
};

function findPrograms() {
  const server = findProgram('mariadbd') ?? findProgram('mysqld');
  return (
    server && { server, installDb: findProgram('mariadb-install-db') ?? findProgram('mysql_install_db') }
  );
}

async function startPrivateMysql(folder: string): Promise<PrivateServer> {
  const programs = findPrograms();
  if (!programs) throw new Error('no programs of a MySQL or MariaDB server on this machine');
  const identity = unprivilegedIdentity('mysql');
  const data = join(folder, 'data');
  const command = { folder, identity };
  const isMariaDb = await reportsMariaDb(programs.server);
  await runToEnd({
    ...command,
    program: isMariaDb && programs.installDb ? programs.installDb : programs.server,
    args: [
      '--no-defaults',
      `--datadir=${data}`,
      ...(isMariaDb ? MARIADB_PREPARATION : ['--initialize-insecure']),
    ],
  });

  const access = join(folder, 'access.sql');
  await writeFile(
    access,
    `create user if not exists 'root'@'127.0.0.1';\ngrant all on *.* to 'root'@'127.0.0.1' with grant option;\n`,
    { mode: 0o644 },
  );
  const port = await freePort();
  const url = `mysql://root@127.0.0.1:${port}/`;
  const stop = await startServer({
    ...command,
    program: programs.server,
    args: [
      '--no-defaults',
      `--datadir=${data}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      `--socket=${join(folder, 'mysql.sock')}`,
      `--pid-file=${join(folder, 'mysql.pid')}`,
      `--init-file=${access}`,
      '--max-connections=200',
    ],
    stopSignal: 'SIGTERM',
    isReady: () => query(url, 'select 1'),
  });
  return { url, stop };
}

async function reportsMariaDb(server: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)(server, ['--no-defaults', '--version']);
  return stdout.includes('MariaDB');
}

async function query<Row>(
  url: string,
  text: string,
  values: (string | number)[] = [],
): Promise<(Row & RowDataPacket)[]> {
  const connection = await createConnection({ uri: url, connectTimeout: CONNECT_TIMEOUT_MS });
  connection.on('error', () => {}); // a connection lost later than its query concerns nobody
  try {
    const [rows] = await connection.query<(Row & RowDataPacket)[]>(text, values);
    return rows;
  } finally {
    connection.destroy();
  }
}
