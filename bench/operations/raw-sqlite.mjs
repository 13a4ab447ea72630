import Database from 'better-sqlite3';
import { rateOf } from '../clock.mjs';
import { payloadText, range } from '../payload.mjs';

const schema = `
  create table raw_jobs (
    id integer primary key, queue text not null, state int not null default 0, prio int not null default 0,
    run_at int not null default 0, worker text, data text not null
  );
  create index raw_claim on raw_jobs (queue, prio, run_at, id) where state = 0`;

/** The driver with the least SQL that a queue could do: one table, one partial index. */
export async function rawSqlite({ file, synchronous, inserts, rows }) {
  const db = new Database(file);
  db.pragma('journal_mode = wal');
  db.pragma(`synchronous = ${synchronous}`);
  db.exec(schema);
  const insert = db.prepare("insert into raw_jobs (queue, data) values ('q', ?)");
  const limits = {};
  limits['insert, 1 row'] = await rateOf(inserts, () => {
    for (let i = 0; i < inserts; i += 1) insert.run(payloadText(i));
  });
  const insertMany = db.transaction((texts) => {
    for (const text of texts) insert.run(text);
  });
  const texts = range(0, rows).map(payloadText);
  limits['insert, 1,000 rows'] = await rateOf(rows, () => {
    for (let i = 0; i < rows; i += 1_000) insertMany(texts.slice(i, i + 1_000));
  });
  for (const batch of [100, 500])
    limits[`claim ${batch}, delete ${batch}`] = await claimAndDelete(db, batch, rows * 0.4);
  const version = db.prepare('select sqlite_version() as v').get().v;
  db.close();
  return {
    limits,
    version: `SQLite ${version}`,
    durability: `journal_mode=WAL, synchronous=${synchronous}`,
  };
}

function claimAndDelete(db, batch, jobs) {
  const claim = db.prepare(
    `update raw_jobs set state = 1, worker = 'w' where id in
       (select id from raw_jobs where queue = 'q' and state = 0 order by prio, run_at, id limit ${batch})
     returning id, data`,
  );
  const remove = db.prepare('delete from raw_jobs where id in (select value from json_each(?))');
  return rateOf(jobs, () => {
    for (let done = 0; done < jobs; done += batch) {
      const claimed = claim.all();
      for (const { data } of claimed) JSON.parse(data);
      remove.run(JSON.stringify(claimed.map(({ id }) => id)));
    }
  });
}
