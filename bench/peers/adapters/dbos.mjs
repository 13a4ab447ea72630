import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import pg from 'pg';
import { counterOf, inPieces, tellError } from './shared.mjs';

const silent = () => undefined;
const logger = { info: silent, debug: silent, warn: silent, error: tellError };
const target = { queueName: 'bench', workflowName: 'benchJob', appVersion: 'v1' };

export async function openQueue({ database, concurrency = 10 }) {
  let handle = () => undefined;
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: database,
    systemDatabasePoolSize: 20,
    logLevel: 'error',
    logger,
    applicationVersion: 'v1',
  });
  DBOS.registerWorkflow(async (payload) => handle(payload), { name: 'benchJob' });
  let isLaunched = false;
  const launch = async () => {
    if (!isLaunched) await DBOS.launch();
    isLaunched = true;
  };
  // Its first launch makes the schema, which a client needs.
  if (!(await hasSchema(database))) await launch();
  const client = await DBOSClient.create({ systemDatabaseUrl: database, applicationName: 'bench', logger });
  const counter = counterOf(
    database,
    "select count(*) from dbos.workflow_status where queue_name = 'bench' and status in ('ENQUEUED', 'PENDING', 'DELAYED')",
  );
  return {
    enqueue: (payload) => client.enqueue(target, payload),
    bulk: (payloads) => enqueueInTransactions(database, client, payloads),
    async work({ onJob }) {
      handle = onJob;
      await launch();
      await DBOS.registerQueue('bench', {
        workerConcurrency: concurrency,
        minPollingIntervalMs: 1,
        onConflict: 'always_update',
      });
    },
    unfinished: counter.count,
    async close() {
      await counter.close();
      await client.destroy();
      if (isLaunched) await DBOS.shutdown();
    },
  };
}

async function hasSchema(database) {
  const client = new pg.Client(database);
  await client.connect();
  const { rows } = await client.query("select to_regclass('dbos.workflow_status') as found");
  await client.end();
  return rows[0].found !== null;
}

async function enqueueInTransactions(database, client, payloads) {
  const connection = new pg.Client(database);
  await connection.connect();
  for (const piece of inPieces(payloads, 500)) {
    await connection.query('begin');
    for (const payload of piece) await client.enqueueInTransaction(connection, target, payload);
    await connection.query('commit');
  }
  await connection.end();
}
