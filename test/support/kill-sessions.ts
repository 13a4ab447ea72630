import mysql from 'mysql2/promise';
import pg from 'pg';

/** An operator's hand on a database server. */
export interface SessionKiller extends AsyncDisposable {
  /** Ends every other session of the database; answers how many there were. */
  killAll(): Promise<number>;
}

export async function killSessions(engine: 'postgres' | 'mysql', address: string): Promise<SessionKiller> {
  return engine === 'postgres' ? ofPostgres(address) : ofMysql(address);
}

async function ofPostgres(url: string): Promise<SessionKiller> {
  const client = new pg.Client({ connectionString: url });
  // It may still say goodbye when its database is dropped.
  client.on('error', () => undefined);
  await client.connect();
  return {
    async killAll() {
      const ended = await client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      return ended.rowCount ?? 0;
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function ofMysql(url: string): Promise<SessionKiller> {
  const connection = await mysql.createConnection(url);
  return {
    async killAll() {
      const [rows] = await connection.query<mysql.RowDataPacket[]>(
        'select id from information_schema.processlist where db = database() and id <> connection_id()',
      );
      // One that has just ended by itself is no failure of this.
      for (const { id } of rows) await connection.query(`kill ${Number(id)}`).catch(() => undefined);
      return rows.length;
    },
    [Symbol.asyncDispose]: () => connection.end(),
  };
}
