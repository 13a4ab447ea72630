import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Sidequest } from 'sidequest';
import { over } from './shared.mjs';
import { BenchJob, onEachJob } from './sidequest-job.mjs';

const tries = 4;

/** `database` is a PostgreSQL URL, or the path of a file. */
export async function openQueue({ database, concurrency = 10 }) {
  const isPostgres = database.startsWith('postgres');
  const config = {
    backend: {
      driver: isPostgres ? '@sidequest/postgres-backend' : '@sidequest/sqlite-backend',
      config: database,
    },
    queues: [{ name: 'bench', concurrency }],
    logger: { level: 'error' },
    maxConcurrentJobs: concurrency,
    runner: 'inline',
    fork: false,
    gracefulShutdown: false,
    jobPollingInterval: 1,
    releaseStaleJobsIntervalMin: false,
    cleanupFinishedJobsIntervalMin: false,
    dashboard: { enabled: false },
    jobDefaults: { queue: 'bench' },
  };
  await Sidequest.configure(config);
  const enqueue = (payload) => Sidequest.build(BenchJob).queue('bench').enqueue(payload);
  return {
    enqueue,
    bulk: (payloads) => over(payloads, isPostgres ? 20 : 1, enqueue),
    async work({ onJob }) {
      onEachJob(onJob);
      for (let tried = 1; ; tried += 1) {
        try {
          await Sidequest.start(config);
          return;
        } catch (error) {
          // Two processes that start at once collide on the row of their queue.
          if (tried === tries) throw error;
          await delay(200);
        }
      }
    },
    async unfinished() {
      const { waiting, claimed, running } = await Sidequest.getBackend().countJobs();
      return waiting + claimed + running;
    },
    ...(!isPostgres && { durability: async () => sqliteDurability(database) }),
    close: () => Sidequest.stop(),
  };
}

/** Its connection is out of reach: the journal is a property of the file, and the rest it leaves at SQLite's default. */
function sqliteDurability(file) {
  const db = new Database(file);
  const mode = db.pragma('journal_mode', { simple: true });
  db.close();
  return `journal_mode=${mode}, synchronous=FULL (not set, so SQLite's default)`;
}
