import type { CommandSpec } from '../command.js';
import { audit } from './audit.js';
import { capture } from './capture.js';
import { bury, cancel, remove, retry } from './change-job.js';
import { dispatch } from './dispatch.js';
import { doctor } from './doctor.js';
import { edit } from './edit.js';
import { files } from './files.js';
import { fleet } from './fleet.js';
import { flush } from './flush.js';
import { hub } from './hub.js';
import { init } from './init.js';
import { job } from './job.js';
import { jobs } from './jobs.js';
import { migrate } from './migrate.js';
import { pause, resume } from './pause.js';
import { purge } from './purge.js';
import { recover } from './recover.js';
import { retryBuried } from './retry-buried.js';
import { settings } from './settings.js';
import { status } from './status.js';
import { tick } from './tick.js';
import { token } from './token.js';
import { up } from './up.js';
import { why } from './why.js';
import { work } from './work.js';
import { worker } from './worker.js';
import { workers } from './workers.js';

/** In the order of the help. */
export const commands: readonly CommandSpec<never>[] = [
  init,
  migrate,
  up,
  work,
  hub,
  flush,
  tick,
  dispatch,
  status,
  jobs,
  job,
  files,
  capture,
  why,
  edit,
  retry,
  retryBuried,
  bury,
  cancel,
  remove,
  recover,
  purge,
  pause,
  resume,
  workers,
  worker,
  fleet,
  token,
  audit,
  settings,
  doctor,
];
