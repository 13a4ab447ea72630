import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { counterOf, inPieces, tellError } from './shared.mjs';

const batching = { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } };

export async function openQueue({ database, concurrency = 10, queue: { isBatching } }) {
  const logger = new Logger(() => (level, message) => {
    if (level === 'error') tellError(message);
  });
  const pgPool = new pg.Pool({
    connectionString: database,
    max: isBatching ? 10 : Math.min(50, Math.max(10, concurrency + 2)),
  });
  pgPool.on('error', tellError);
  pgPool.on('connect', (client) => client.on('error', tellError));
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  let runner = null;
  const counter = counterOf(database, 'select count(*) from graphile_worker._private_jobs');
  return {
    enqueue: (payload) => utils.addJob('bench', payload),
    async bulk(payloads) {
      for (const piece of inPieces(payloads, 1_000)) {
        await utils.addJobs(piece.map((payload) => ({ identifier: 'bench', payload })));
      }
    },
    async work({ onJob }) {
      runner = await run({
        pgPool,
        logger,
        concurrency,
        noHandleSignals: true,
        taskList: { bench: async (payload) => onJob(payload) },
        ...(isBatching && { preset: batching }),
      });
    },
    unfinished: counter.count,
    async close() {
      await runner?.stop();
      await counter.close();
      await utils.release();
      await pgPool.end();
    },
  };
}
