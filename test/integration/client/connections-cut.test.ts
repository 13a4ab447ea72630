import mysql from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/client/define-job.js';
import { Millrace } from '../../../src/client/millrace.js';
import { serverAvailable, testDatabase } from '../../support/servers.js';
import { waitFor } from '../../support/wait-for.js';

interface Cutter extends AsyncDisposable {
  /** Ends every other connection to the database; answers how many there were. */
  cut(): Promise<number>;
}

async function postgresCutter(url: string): Promise<Cutter> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    cut: async () => {
      const ended = await client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      return ended.rowCount ?? 0;
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function mysqlCutter(url: string): Promise<Cutter> {
  const connection = await mysql.createConnection(url);
  return {
    cut: async () => {
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

const engines = [
  { engine: 'postgres', cutter: postgresCutter },
  { engine: 'mysql', cutter: mysqlCutter },
] as const;

for (const { engine, cutter } of engines) {
  describe.skipIf(!serverAvailable(engine))(`[${engine}] client: connections cut again and again`, () => {
    it('loses and doubles no dispatch, alone, in flight or in bulk', async () => {
      await using database = await testDatabase(engine);
      await using cutting = await cutter(database.url);
      const note = defineJob('note', {});
      const options = { database: database.url, migrate: 'auto', dispatchTimeout: '60s' } as const;
      await using millrace: Millrace = new Millrace(options);
      await millrace.open();
      const total = 600;
      let done = 0;
      let next = 0;
      const deduplicated: string[] = [];
      const dispatchers = Promise.all(
        Array.from({ length: 20 }, async () => {
          while (next < total) {
            const handle = await millrace.dispatch(note, next++);
            if (handle.deduplicated) deduplicated.push(handle.id);
            done += 1;
          }
        }),
      );
      const bulk = millrace.dispatchMany(
        Array.from({ length: 5000 }, (_, n) => ({ job: 'note', input: n, options: { queue: 'bulk' } })),
      );
      let cuts = 0;
      for (const mark of [20, 150, 300, 450]) {
        await waitFor(() => done >= mark, {
          describe: `${mark} dispatches`,
          deadlineMs: 60_000,
          intervalMs: 1,
        });
        cuts += await cutting.cut();
      }
      await dispatchers;
      const handles = await bulk;
      expect(cuts).toBeGreaterThan(0);
      expect(deduplicated).toEqual([]);
      expect(handles.some((handle) => handle.deduplicated)).toBe(false);
      expect(new Set(handles.map(({ id }) => id)).size).toBe(5000);
      expect((await millrace.stats('default')).pending).toBe(total);
      expect((await millrace.stats('bulk')).pending).toBe(5000);
    }, 120_000);
  });
}
