import { PgBoss } from 'pg-boss';
import { counterOf, inPieces, over, tellError } from './shared.mjs';

export async function openQueue({ database, isPickUp = false }) {
  const boss = new PgBoss({
    connectionString: database,
    max: 10,
    schedule: false,
    useListenNotify: isPickUp,
  });
  boss.on('error', tellError);
  await boss.start();
  await boss.createQueue('bench', isPickUp ? { notify: true } : {});
  const counter = counterOf(
    database,
    "select count(*) from pgboss.job where name = 'bench' and state <> 'completed'",
  );
  return {
    enqueue: (payload) => boss.send('bench', payload),
    async bulk(payloads) {
      for (const piece of inPieces(payloads, 1_000)) {
        await boss.insert(
          'bench',
          piece.map((data) => ({ data })),
        );
      }
    },
    async work({ concurrency, onJob }) {
      const options = {
        batchSize: isPickUp ? 100 : 1_000,
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
        localConcurrency: concurrency >= 100 ? 2 : 1,
      };
      await boss.work('bench', options, (jobs) => over(jobs, concurrency, async ({ data }) => onJob(data)));
    },
    unfinished: counter.count,
    async close() {
      await counter.close();
      await boss.stop({ graceful: false });
    },
  };
}
