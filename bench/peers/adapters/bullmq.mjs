import { Queue, Worker } from 'bullmq';
import { inPieces, tellError } from './shared.mjs';

/** `database` is `{ host, port, …, prefix }`: all keys of a measurement begin with its prefix. */
export async function openQueue({ database }) {
  const { prefix, ...connection } = database;
  const queue = new Queue('bench', {
    connection,
    prefix,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  });
  queue.on('error', tellError);
  await queue.waitUntilReady();
  return {
    enqueue: (payload) => queue.add('job', payload),
    async bulk(payloads) {
      for (const piece of inPieces(payloads, 1_000)) {
        await queue.addBulk(piece.map((data) => ({ name: 'job', data })));
      }
    },
    async work({ concurrency, onJob }) {
      const worker = new Worker('bench', async ({ data }) => onJob(data), {
        connection: { ...connection, maxRetriesPerRequest: null },
        prefix,
        concurrency,
      });
      worker.on('error', tellError);
      await worker.waitUntilReady();
    },
    async unfinished() {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized', 'failed');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    close: () => queue.close(),
  };
}
