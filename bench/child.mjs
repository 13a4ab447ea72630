/* One operation in one process: argv[2] is `{ operation, … }`, the answer goes over IPC. */
import { bulk, inFlight, load, oneByOne } from './operations/dispatch.mjs';
import { drain } from './operations/drain.mjs';
import { connectIdle, serve, serveIdle } from './operations/hub.mjs';
import { rest } from './operations/idle.mjs';
import { runInLanes } from './operations/lanes.mjs';
import { pickUp, produce } from './operations/latency.mjs';
import { drainBounded } from './operations/limits.mjs';
import { rawMysql } from './operations/raw-mysql.mjs';
import { rawPostgres } from './operations/raw-postgres.mjs';
import { rawSqlite } from './operations/raw-sqlite.mjs';
import { startToFirstJob } from './operations/start.mjs';
import { connectToParent } from './parent.mjs';

const OPERATIONS = {
  load,
  bulk,
  'one-by-one': oneByOne,
  'in-flight': inFlight,
  drain,
  'pick-up': pickUp,
  produce,
  lanes: runInLanes,
  limits: drainBounded,
  start: startToFirstJob,
  rest,
  serve,
  'serve-idle': serveIdle,
  'connect-idle': connectIdle,
  'raw-sqlite': rawSqlite,
  'raw-postgres': rawPostgres,
  'raw-mysql': rawMysql,
};

await connectToParent((spec, parent) => OPERATIONS[spec.operation](spec, parent));
