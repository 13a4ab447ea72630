import type { Engine } from '../../src/storage/capabilities.js';
import { createStorage } from '../../src/storage/open-storage.js';
import { emptyDatabase, openEngine, type TestEngine } from './engines.js';
import { type HubStage, openHub } from './hub-stage.js';

/** Times of a hub that tests wait for. */
const environment = {
  MILLRACE_WORKER_SLEEP: '200ms',
  MILLRACE_HEARTBEAT: '500ms',
};

/** A database that nothing has opened but a hub, to which every worker of this process goes from now on. */
export async function emptyHubDatabase(engine: Engine): Promise<{ address: string } & AsyncDisposable> {
  const database = await emptyDatabase(engine);
  const storage = await createStorage(database.address, { migrate: 'auto' });
  await storage.open();
  const stage = await openHub(storage, { environment });
  const release = sendWorkersTo(stage);
  return {
    address: database.address,
    async [Symbol.asyncDispose]() {
      release();
      await stage[Symbol.asyncDispose]();
      await storage.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** As `openEngine`, with a hub to which every worker of this process goes from now on. */
export async function openHubEngine(
  engine: Engine,
  more: Readonly<Record<string, string>> = {},
): Promise<TestEngine> {
  const opened = await openEngine(engine);
  const stage = await openHub(opened.storage, { environment: { ...environment, ...more } });
  const release = sendWorkersTo(stage);
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      release();
      await stage[Symbol.asyncDispose]();
      await opened[Symbol.asyncDispose]();
    },
  };
}

function sendWorkersTo({ url }: HubStage): () => void {
  process.env['HUB_URL'] = url;
  return () => {
    delete process.env['HUB_URL'];
  };
}
