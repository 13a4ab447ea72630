/* One operation in one process: argv[2] is `{ operation, … }`, the answer goes over IPC. */
import { bulk, inFlight, load, oneByOne } from './operations/dispatch.mjs';
import { drain } from './operations/drain.mjs';
import { pickUp, produce } from './operations/latency.mjs';
import { rawMysql } from './operations/raw-mysql.mjs';
import { rawPostgres } from './operations/raw-postgres.mjs';
import { rawSqlite } from './operations/raw-sqlite.mjs';

const OPERATIONS = {
  load,
  bulk,
  'one-by-one': oneByOne,
  'in-flight': inFlight,
  drain,
  'pick-up': pickUp,
  produce,
  'raw-sqlite': rawSqlite,
  'raw-postgres': rawPostgres,
  'raw-mysql': rawMysql,
};

const spec = JSON.parse(process.argv[2]);
const send = (message) => new Promise((resolve) => process.send(message, resolve));
const parent = {
  progress: (count) => process.send({ type: 'progress', count }),
  ready: () => send({ type: 'ready' }),
  told: (type) =>
    new Promise((resolve) => {
      const listen = (message) => {
        if (message.type !== type) return;
        process.off('message', listen);
        resolve(message);
      };
      process.on('message', listen);
    }),
};

try {
  const result = await OPERATIONS[spec.operation](spec, parent);
  await send({ type: 'result', result });
} catch (error) {
  await send({ type: 'error', message: `${spec.operation}: ${error.stack ?? error}` });
}
process.disconnect();
// What an operation left open (it was told to close) must not keep the run waiting.
setTimeout(() => process.exit(0), 3_000).unref();
