/*
 * A worker process whose only job moves a note and settles itself in the same transaction, on a raw connection:
 * node settle-child.mjs '{ url, engine, die }'. With `die` it kills itself right before or right after the commit.
 * Prints `ready` once it runs.
 */
import { defineJob, Millrace } from 'millrace';

const { url, engine, die } = JSON.parse(process.argv[2]);
const kill = (when) => {
  if (die === when) process.kill(process.pid, 'SIGKILL');
};

const moves = {
  async postgres(context) {
    const { default: pg } = await import('pg');
    const client = new pg.Client(url);
    // It may still say goodbye when its database is dropped.
    client.on('error', () => undefined);
    await client.connect();
    await client.query('begin');
    await client.query("insert into notes (text_of) values ('moved')");
    await context.settleIn(client, 'moved');
    kill('before the commit');
    await client.query('commit');
    kill('after the commit');
    await client.end();
  },
  async mysql(context) {
    const { default: mysql } = await import('mysql2/promise');
    const connection = await mysql.createConnection(url);
    await connection.beginTransaction();
    await connection.query("insert into notes (text_of) values ('moved')");
    await context.settleIn(connection, 'moved');
    kill('before the commit');
    await connection.commit();
    kill('after the commit');
    await connection.end();
  },
  async sqlite(context) {
    const { default: Database } = await import('better-sqlite3');
    const database = new Database(url.replace(/^sqlite:/, '').replace(/\?.*$/, ''));
    database.exec('begin immediate');
    database.exec("insert into notes (text_of) values ('moved')");
    context.settleInSync(database, 'moved');
    kill('before the commit');
    database.exec('commit');
    kill('after the commit');
    database.close();
  },
};

const move = defineJob('move', { run: moves[engine] });
const settings = { staleTimeout: 1_500, heartbeat: 300, workerSleep: 200, retryBackoff: 'fixed' };
const millrace = new Millrace({ database: url, jobs: [move], ...settings });
const worker = millrace.worker();
await worker.start();
process.stdout.write('ready\n');
