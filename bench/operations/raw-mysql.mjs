import mysql from 'mysql2/promise';
import { rateOf } from '../clock.mjs';
import { payloadText, range } from '../payload.mjs';

const schema = `
  create table raw_jobs (
    id bigint auto_increment primary key, queue varchar(64) not null, state tinyint not null default 0,
    prio int not null default 0, run_at datetime(3) not null default current_timestamp(3), worker varchar(64),
    data json not null, key raw_claim (queue, state, prio, run_at, id)
  ) engine = innodb`;
const insert = "insert into raw_jobs (queue, data) values ('q', ?)";
const width = 16;

/** The driver with the least SQL that a queue could do: one table, one index. */
export async function rawMysql({ url, inserts, rows }) {
  const client = await mysql.createConnection(url);
  const pool = mysql.createPool({ uri: url, connectionLimit: width });
  await client.query('set session transaction isolation level read committed');
  await client.query(schema);
  const limits = {};
  limits['insert, 1 row'] = await rateOf(inserts, async () => {
    for (let i = 0; i < inserts; i += 1) await client.execute(insert, [payloadText(i)]);
  });
  let next = 0;
  const lane = async () => {
    while (next < inserts * 3) await pool.execute(insert, [payloadText(next++)]);
  };
  limits[`insert, 1 row, ${width} in flight`] = await rateOf(inserts * 3, () =>
    Promise.all(range(0, width).map(lane)),
  );
  const pairs = range(0, rows).map((i) => ['q', payloadText(i)]);
  limits['insert, 1,000 rows'] = await rateOf(rows, async () => {
    for (let i = 0; i < rows; i += 1_000) {
      await client.query('insert into raw_jobs (queue, data) values ?', [pairs.slice(i, i + 1_000)]);
    }
  });
  for (const batch of [100, 500]) {
    const jobs = rows * 0.4;
    limits[`claim ${batch}, delete ${batch}`] = await rateOf(jobs, async () => {
      for (let done = 0; done < jobs; done += batch) {
        await client.query('delete from raw_jobs where id in (?)', [await claim(client, batch)]);
      }
    });
  }
  const about = await conditions(client);
  await client.query('drop table raw_jobs');
  await Promise.all([client.end(), pool.end()]);
  return { limits, ...about };
}

async function claim(client, batch) {
  await client.query('start transaction');
  const [claimed] = await client.query(
    `select id, data from raw_jobs where queue = 'q' and state = 0 order by prio, run_at, id limit ${batch}
     for update skip locked`,
  );
  const ids = claimed.map(({ id }) => id);
  await client.query("update raw_jobs set state = 1, worker = 'w' where id in (?)", [ids]);
  await client.query('commit');
  return ids;
}

async function conditions(client) {
  const names = [
    'innodb_flush_log_at_trx_commit',
    'innodb_doublewrite',
    'log_bin',
    'innodb_buffer_pool_size',
  ];
  const [[row]] = await client.query(
    `select version() as version, ${names.map((name) => `@@${name} as ${name}`).join(', ')}`,
  );
  row.innodb_buffer_pool_size = `${row.innodb_buffer_pool_size / 2 ** 20} MB`;
  const number = /\d+\.\d+\.\d+/.exec(row.version)[0];
  return {
    version: `${row.version.includes('MariaDB') ? 'MariaDB' : 'MySQL'} ${number}`,
    durability: names.map((name) => `${name}=${row[name]}`).join(', '),
  };
}
