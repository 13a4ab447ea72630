import type { Engine } from '../../src/storage/capabilities.js';
import { createStorage } from '../../src/storage/open-storage.js';
import type { Storage, StorageClock } from '../../src/storage/storage.js';
import type { EngineFixture } from '../conformance/stage.js';
import { serverAvailable, testDatabase } from './servers.js';
import { tempDir } from './temp.js';

/** The clock of everything that is opened on one database; a test's own storages can follow it too. */
export interface TestClock extends StorageClock {
  advance(ms: number): void;
}

/** An empty database of one engine, and how others reach it. */
export interface TestEngine extends EngineFixture {
  /** As users write it; with it another process opens the same database. */
  readonly address: string;
  readonly clock: TestClock;
}

/** Whether tests of this engine can run here: `describe.skipIf(!engineAvailable('postgres'))`. */
export function engineAvailable(engine: Engine): boolean {
  return engine === 'memory' || engine === 'sqlite' || serverAvailable(engine);
}

/** Creates an empty database, migrates and opens it. The clock of all its storages is moved by the test alone. */
export async function openEngine(engine: Engine): Promise<TestEngine> {
  const database = await emptyDatabase(engine);
  const clock = testClock();
  const opened: Storage[] = [];
  const open = async (): Promise<Storage> => {
    const storage = await createStorage(database.address, { clock, migrate: 'auto' });
    await storage.open();
    opened.push(storage);
    return storage;
  };
  return {
    address: database.address,
    storage: await open(),
    clock,
    ...(engine === 'memory' ? {} : { another: open }),
    async [Symbol.asyncDispose]() {
      for (const storage of opened) await storage.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** An empty database that nothing has opened yet. */
export async function emptyDatabase(engine: Engine): Promise<{ address: string } & AsyncDisposable> {
  switch (engine) {
    case 'memory':
      return { address: 'memory:', [Symbol.asyncDispose]: () => Promise.resolve() };
    case 'sqlite': {
      const folder = tempDir('sqlite');
      // What power loss may take is not what these tests are about; NORMAL saves them the wait for the disk.
      const address = `sqlite:${folder.file('queue.db')}?synchronous=NORMAL`;
      return { address, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
    }
    case 'postgres':
    case 'mysql': {
      const database = await testDatabase(engine);
      return { address: database.url, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() };
    }
  }
}

function testClock(): TestClock {
  let offsetMs = 0;
  return {
    offsetMs: () => offsetMs,
    advance(ms) {
      offsetMs += ms;
    },
  };
}
