import Database from 'better-sqlite3';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { done, Stage, settlement } from '../../conformance/stage.js';
import { buried } from '../../conformance/verdicts.js';
import { engineAvailable, openEngine } from '../../support/engines.js';

/** Runs statements on the database behind the back of Millrace. */
type Tamper = (address: string, ...statements: string[]) => Promise<void>;

const tampers: Record<'sqlite' | 'postgres' | 'mysql', { edges: string; run: Tamper }> = {
  sqlite: {
    edges: 'edges',
    run: (address, ...statements) => {
      const database = new Database(address.replace(/^sqlite:/, '').replace(/\?.*/, ''));
      for (const statement of statements) database.exec(statement);
      database.close();
      return Promise.resolve();
    },
  },
  postgres: {
    edges: 'millrace.dependencies',
    run: async (address, ...statements) => {
      const client = new pg.Client({ connectionString: address });
      // It may still say goodbye when its database is dropped.
      client.on('error', () => undefined);
      await client.connect();
      for (const statement of statements) await client.query(statement);
      await client.end();
    },
  },
  mysql: {
    edges: 'millrace_edges',
    run: async (address, ...statements) => {
      const connection = await mysql.createConnection(address);
      for (const statement of statements) await connection.query(statement);
      await connection.end();
    },
  },
};

const healthy = 600;

/** A fault that must not happen: a parent ends and its dependents are not told. The sweep is the proof against it. */
for (const engine of ['sqlite', 'postgres', 'mysql'] as const) {
  describe.skipIf(!engineAvailable(engine))(
    `[${engine}] dependents whose parents ended without telling them`,
    () => {
      test('are found by the sweep behind any number that wait rightly, and follow their policy', async () => {
        await using database = await openEngine(engine);
        const { edges, run } = tampers[engine];
        const stage = new Stage(engine, () => database);
        const waited = await stage.add('later', { due: { inMs: 3_600_000 } });
        const well = await stage.addMany('children', healthy, { after: { ids: [waited], onFailure: 'run' } });
        const [good = '', bad = '', gone = ''] = await stage.addMany('parents', 3);
        // Its ending has been told, and a retry makes nobody wait again.
        const revived = await stage.add('later', { due: { inMs: 3_600_000 } });
        const onto = async (after: string, onFailure: 'bury' | 'cancel' | 'run') =>
          await stage.add('children', { after: { ids: [after], onFailure } });
        const stranded = {
          met: await onto(good, 'bury'),
          buried: await onto(bad, 'bury'),
          cancelled: await onto(bad, 'cancel'),
          run: await onto(bad, 'run'),
          gone: await onto(gone, 'cancel'),
          told: await stage.add('children', { after: { ids: [good, revived], onFailure: 'run' } }),
          half: await stage.add('children', { after: { ids: [good, waited], onFailure: 'bury' } }),
        };
        expect(await database.storage.cancel(revived)).toBe('done');
        expect(await database.storage.retry(revived)).toBe('done');
        const below = await stage.add('children', { after: { ids: [stranded.buried], onFailure: 'cancel' } });

        await run(database.address, `create table kept as select * from ${edges}`, `delete from ${edges}`);
        const leases = await stage.claim('parents');
        const verdicts = new Map([[bad, buried]]);
        await database.storage.settle(
          leases.map((lease) => settlement(lease, verdicts.get(lease.id) ?? done)),
        );
        expect(await database.storage.delete(gone)).toBe('done');
        await run(database.address, `insert into ${edges} select * from kept`, 'drop table kept');
        expect(new Set(await stage.statuses(Object.values(stranded)))).toEqual(new Set(['blocked']));

        expect(await database.storage.releaseBlocked(1_000)).toBe(6);
        expect(await stage.statuses(Object.values(stranded))).toEqual([
          'pending',
          'buried',
          'cancelled',
          'pending',
          'cancelled',
          'pending',
          'blocked',
        ]);
        expect(await stage.statuses([below])).toEqual(['cancelled']);
        expect(await stage.stats('children')).toMatchObject({ blocked: healthy + 1, pending: 3 });
        expect(await database.storage.releaseBlocked(1_000)).toBe(0);
        expect((await stage.statuses(well)).every((status) => status === 'blocked')).toBe(true);
      });
    },
  );
}
