import pg from 'pg';
import { rateOf } from '../clock.mjs';
import { payloadText, range } from '../payload.mjs';

const schema = `
  create table raw_jobs (
    id bigint generated always as identity primary key, queue text not null, state smallint not null default 0,
    prio int not null default 0, run_at timestamptz not null default now(), worker text, data jsonb not null
  );
  create index raw_claim on raw_jobs (queue, prio, run_at, id) where state = 0`;
const insert = { name: 'insert', text: "insert into raw_jobs (queue, data) values ('q', $1)" };
const insertMany = {
  name: 'insert-many',
  text: "insert into raw_jobs (queue, data) select 'q', d from unnest($1::jsonb[]) d",
};
const claim = {
  name: 'claim',
  text: `update raw_jobs set state = 1, worker = 'w' where id = any(array(
           select id from raw_jobs where queue = 'q' and state = 0 order by prio, run_at, id limit $1
           for update skip locked)) returning id, data`,
};
const remove = { name: 'remove', text: 'delete from raw_jobs where id = any($1::bigint[])' };
const width = 16;

/** The driver with the least SQL that a queue could do: one table, one partial index, prepared statements. */
export async function rawPostgres({ url, inserts, rows }) {
  const client = new pg.Client(url);
  await client.connect();
  const pool = new pg.Pool({ connectionString: url, max: width });
  await client.query(schema);
  const limits = {};
  limits['insert, 1 row'] = await rateOf(inserts, async () => {
    for (let i = 0; i < inserts; i += 1) await client.query({ ...insert, values: [payloadText(i)] });
  });
  let next = 0;
  const lane = async () => {
    while (next < inserts * 3) await pool.query({ ...insert, values: [payloadText(next++)] });
  };
  limits[`insert, 1 row, ${width} in flight`] = await rateOf(inserts * 3, () =>
    Promise.all(range(0, width).map(lane)),
  );
  const texts = range(0, rows).map(payloadText);
  limits['insert, 1,000 rows'] = await rateOf(rows, async () => {
    for (let i = 0; i < rows; i += 1_000) {
      await client.query({ ...insertMany, values: [texts.slice(i, i + 1_000)] });
    }
  });
  for (const batch of [100, 500]) {
    const jobs = rows * 0.4;
    limits[`claim ${batch}, delete ${batch}`] = await rateOf(jobs, async () => {
      for (let done = 0; done < jobs; done += batch) {
        const { rows: claimed } = await client.query({ ...claim, values: [batch] });
        await client.query({ ...remove, values: [claimed.map(({ id }) => id)] });
      }
    });
  }
  const about = await conditions(client);
  await client.query('drop table raw_jobs');
  await Promise.all([client.end(), pool.end()]);
  return { limits, ...about };
}

export async function conditions(client) {
  const names = [
    'server_version',
    'fsync',
    'synchronous_commit',
    'full_page_writes',
    'shared_buffers',
    'autovacuum',
  ];
  const { rows } = await client.query('select name, setting, unit from pg_settings where name = any($1)', [
    names,
  ]);
  const of = new Map(
    rows.map(({ name, setting, unit }) => [name, unit === '8kB' ? `${(setting * 8) / 1024} MB` : setting]),
  );
  return {
    version: `PostgreSQL ${of.get('server_version').split(' ')[0]}`,
    durability: names
      .slice(1)
      .map((name) => `${name}=${of.get(name)}`)
      .join(', '),
  };
}
