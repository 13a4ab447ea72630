import { describe, expect, test } from 'vitest';
import { createStorage, type EngineStorage } from '../../src/storage/open-storage.js';
import { done, Stage } from '../conformance/stage.js';
import { emptyDatabase, engineAvailable } from '../support/engines.js';
import { hubReport } from '../support/hub-report.js';
import { tempDir } from '../support/temp.js';
import { workerReport } from '../support/worker-report.js';
import { copyInto, mysqlAt, postgresAt, type SchemaVersion, sqliteAt } from './older-schema.js';

type Engine = 'sqlite' | 'postgres' | 'mysql';
const ALIVE = 120_000;

/** A database of an older schema, with work in it, comes to the newest one with nothing lost. */
export function upgradeSuite(engine: Engine): void {
  describe.skipIf(!engineAvailable(engine))(`[${engine}] upgrade`, () => {
    test('jobs, workers and leases of an older schema go on in the newest', async () => {
      await using database = await emptyDatabase(engine);
      const { queue, worker, running, waiting } = await withWork(engine, database.address);
      await using now = await openWith(engine, database.address, 'auto');
      const { storage, stage } = now;
      expect(await stage.statuses([waiting, running.id])).toEqual(['pending', 'processing']);
      expect(await storage.workers()).toMatchObject([
        { ...worker, adminState: 'drain', disconnectedForMs: null, hubId: null },
      ]);
      expect((await storage.held(worker.incarnation)).map(({ id }) => id)).toEqual([running.id]);
      // What was begun before is ended after it, and the rest is worked off.
      expect(await storage.heartbeat(worker)).toEqual({ outcome: 'ok', adminState: 'drain' });
      expect(await stage.settle(running, done)).toBe('done');
      const next = await stage.claimOne(queue);
      expect(next.id).toBe(waiting);
      expect(await stage.settle(next, done)).toBe('done');
    });

    test('hubs, epochs and tokens work in a schema that was brought up to date', async () => {
      await using database = await emptyDatabase(engine);
      const { worker } = await withWork(engine, database.address);
      await using now = await openWith(engine, database.address, 'auto');
      const { storage } = now;
      const { epoch } = await storage.register(worker, ALIVE);
      expect(epoch).toBeGreaterThan(0);
      expect(await storage.noteDisconnected(worker.id, worker.incarnation, epoch)).toBe(true);
      await storage.hubBeat(hubReport({ id: 'h' }));
      expect((await storage.hubs()).map(({ id }) => id)).toEqual(['h']);
      expect(await storage.stopRequests([worker.incarnation])).toEqual([]);
      expect(await storage.tokens()).toEqual([]);
    });

    test('the first schema comes to the newest by every step between', async () => {
      await using database = await emptyDatabase(engine);
      await schemaAt(engine, database.address, 1);
      await using now = await openWith(engine, database.address, 'auto');
      const { storage, stage } = now;
      const job = await stage.running(stage.queue());
      await storage.hubBeat(hubReport({ id: 'h' }));
      expect(await storage.files(job.id)).toEqual([]);
      expect(await stage.settle(job, done)).toBe('done');
    });

    // A file is brought up to date by whoever opens it.
    test.skipIf(engine === 'sqlite')('this code runs on the schema before the newest', async () => {
      await using database = await emptyDatabase(engine);
      const { worker } = await withWork(engine, database.address);
      await using old = await openWith(engine, database.address, 'check');
      const { storage, stage } = old;
      expect(await storage.register(worker, ALIVE)).toMatchObject({
        ...{ outcome: 'registered', adminState: 'drain' },
      });
      const clone = { ...worker, incarnation: stage.incarnation() };
      expect(await storage.register(clone, ALIVE)).toMatchObject({ outcome: 'taken' });
      expect(await storage.heartbeat(worker)).toMatchObject({ outcome: 'ok' });
      expect(await storage.heartbeat(clone)).toMatchObject({ outcome: 'unknown' });
      expect(await storage.purgeTraces({ olderThanMs: 0, limit: 10 })).toBe(0);
      const job = await stage.running(stage.queue());
      expect(await stage.settle(job, done)).toBe('done');
      expect(await storage.delete(job.id)).toBe('done');
      for (const call of [() => storage.files(job.id), () => storage.sweepFiles({ after: null, limit: 1 })])
        await expect(call()).rejects.toMatchObject({ code: 'schema-missing' });
      await expect(storage.fileStoreId('s')).rejects.toThrow(/millrace migrate/);
    });

    test.skipIf(engine === 'sqlite')('it goes on while the tables are brought up to date', async () => {
      await using database = await emptyDatabase(engine);
      const { worker } = await withWork(engine, database.address);
      await using old = await openWith(engine, database.address, 'check');
      expect(await old.storage.register(worker, ALIVE)).toMatchObject({ outcome: 'registered' });
      await using migrating = await openWith(engine, database.address, 'auto');
      await migrating.storage.fileStoreId('s');
      expect(await old.storage.fileStoreId(null)).toBe('s');
      expect(await old.storage.register(worker, ALIVE)).toMatchObject({ outcome: 'registered' });
      expect(await old.storage.heartbeat(worker)).toMatchObject({ outcome: 'ok' });
      expect((await old.storage.workers()).map(({ id }) => id)).toEqual([worker.id]);
    });
  });
}

interface Opened extends AsyncDisposable {
  readonly storage: EngineStorage;
  readonly stage: Stage;
}

async function openWith(engine: Engine, address: string, migrate: 'auto' | 'check'): Promise<Opened> {
  const storage = await createStorage(address, { migrate });
  await storage.open();
  const close = (): Promise<void> => storage.close();
  const fixture = { storage, clock: { advance: () => undefined }, [Symbol.asyncDispose]: close };
  return { storage, stage: new Stage(engine, () => fixture), [Symbol.asyncDispose]: close };
}

interface Work {
  readonly queue: string;
  readonly waiting: string;
  readonly running: { readonly id: string; readonly token: string };
  readonly worker: ReturnType<typeof workerReport>;
}

async function withWork(engine: Engine, address: string): Promise<Work> {
  if (engine !== 'sqlite') {
    await schemaAt(engine, address, 'the one before');
    return fill(await openWith(engine, address, 'check'));
  }
  // What this code writes, it writes to a file of the newest schema; from there it is copied.
  await using folder = tempDir('upgrade');
  const full = folder.file('full.db');
  const work = await fill(await openWith(engine, `sqlite:${full}`, 'auto'));
  await schemaAt(engine, address, 1);
  copyInto(fileOf(address), full);
  return work;
}

const fileOf = (address: string): string => address.slice('sqlite:'.length).split('?')[0] ?? '';

function schemaAt(engine: Engine, address: string, version: SchemaVersion): Promise<void> | void {
  if (engine === 'sqlite') return sqliteAt(fileOf(address), version);
  return engine === 'postgres' ? postgresAt(address, version) : mysqlAt(address, version);
}

async function fill(opened: Opened): Promise<Work> {
  await using all = opened;
  const { stage, storage } = all;
  const queue = stage.queue();
  const incarnation = stage.incarnation();
  const worker = workerReport({ id: 'worker-1', incarnation });
  await storage.register(worker, ALIVE);
  const id = '0199c0de-7a11-7abc-9def-0123456789ab';
  const entry = { id, actor: 'ada', action: 'worker.drain', target: worker.id, source: 'test' };
  await storage.changeWorker(worker.id, { kind: 'admin-state', adminState: 'drain' }, entry);
  const running = await stage.running(queue, {}, { token: stage.token(incarnation), workerId: worker.id });
  const waiting = await stage.add(queue);
  return { queue, waiting, running, worker };
}
