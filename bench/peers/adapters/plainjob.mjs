import Database from 'better-sqlite3';
import { better, defineQueue, defineWorker } from 'plainjob';
import { tellError } from './shared.mjs';

const logger = { debug: () => undefined, info: () => undefined, warn: tellError, error: tellError };

/** `database` is the path of the file. */
export async function openQueue({ database, isPickUp = false }) {
  const db = new Database(database);
  const queue = defineQueue({ connection: better(db), logger });
  const workers = [];
  const unfinished = db.prepare('select count(*) as count from plainjob_jobs where status <> 2');
  return {
    enqueue: async (payload) => queue.add('bench', payload),
    bulk: async (payloads) => queue.addMany('bench', payloads),
    async work({ concurrency, onJob }) {
      const options = { queue, logger, ...(isPickUp && { pollIntervall: 10 }) };
      for (let lane = 0; lane < concurrency; lane += 1) {
        const worker = defineWorker('bench', async ({ data }) => onJob(JSON.parse(data)), options);
        workers.push(worker);
        // Its start drains in one go, synchronously: not before the caller has the clock running.
        setImmediate(() => worker.start().catch(tellError));
      }
    },
    unfinished: async () => unfinished.get().count,
    durability: async () => sqliteDurability(db),
    async close() {
      await Promise.all(workers.map((worker) => worker.stop()));
      queue.close();
    },
  };
}

function sqliteDurability(db) {
  const mode = db.pragma('journal_mode', { simple: true });
  const synchronous = ['OFF', 'NORMAL', 'FULL', 'EXTRA'][db.pragma('synchronous', { simple: true })];
  return `journal_mode=${mode}, synchronous=${synchronous}`;
}
