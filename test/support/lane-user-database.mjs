/* An application's own table `notes`, and its transactions on it, by the driver of each engine. */
const make = 'create table notes (note varchar(200) not null)';
const read = 'select note from notes order by note';

async function withConnection(address, use) {
  if (address.startsWith('sqlite:')) {
    const { default: Database } = await import('better-sqlite3');
    const database = new Database(address.slice('sqlite:'.length).split('?')[0], { timeout: 10_000 });
    const all = (sql, values) => {
      const statement = database.prepare(sql);
      return statement.reader ? statement.all(...values) : statement.run(...values);
    };
    try {
      return await use({ tx: database, isSync: true, query: (sql, values = []) => all(sql, values) });
    } finally {
      database.close();
    }
  }
  if (address.startsWith('postgres')) {
    const { default: pg } = await import('pg');
    const client = new pg.Client(address);
    await client.connect();
    const query = async (sql, values = []) => (await client.query(sql.replace('?', '$1'), values)).rows;
    try {
      return await use({ tx: client, isSync: false, query });
    } finally {
      await client.end();
    }
  }
  const { createConnection } = await import('mysql2/promise');
  const connection = await createConnection(address);
  const query = async (sql, values = []) => (await connection.query(sql, values))[0];
  try {
    return await use({ tx: connection, isSync: false, query });
  } finally {
    await connection.end();
  }
}

export async function inUserTransaction(address, { note, rollback = false }, within) {
  await withConnection(address, async ({ tx, isSync, query }) => {
    await query(isSync ? 'begin immediate' : 'begin');
    await query('insert into notes (note) values (?)', [note]);
    await within({ tx, isSync });
    await query(rollback ? 'rollback' : 'commit');
  });
}

export const makeNotes = (address) => withConnection(address, ({ query }) => query(make));

export const readNotes = (address) =>
  withConnection(address, async ({ query }) => (await query(read)).map(({ note }) => note));
