import { MillraceError } from '../internal/errors.js';
import type { Storage } from '../storage/storage.js';
import type { ClientCore } from './client-core.js';
import { CostWatch } from './cost-watch.js';
import { Dispatcher } from './dispatch.js';
import { EnqueueLine } from './enqueue-line.js';
import type { HandlePorts } from './job-handle.js';

/** Dispatches of a client that go into another storage than its own: those of handlers whose worker is behind a hub. */
export function dispatchOver(
  core: ClientCore,
  storage: Pick<Storage, 'enqueue' | 'within'>,
): Dispatcher['dispatch'] {
  const { definitions, events, settings, logger, options } = core;
  const access = { current: storage, isClosed: false, get: () => Promise.resolve(storage) };
  const dispatcher = new Dispatcher({
    line: new EnqueueLine(access, { timeoutMs: options.dispatchTimeoutMs, random: Math.random }),
    ...{ definitions, access, events, handles, maxPayloadBytes: settings.maxPayloadBytes },
    costs: new CostWatch({ queues: settings.queueCostBudgets, groups: settings.groupCostBudgets }, logger),
  });
  return (job, input, given) => dispatcher.dispatch(job, input, given);
}

/** What becomes of a job is read from the database, which such a worker has not. */
const handles: HandlePorts = {
  job: () => Promise.reject(needsDatabase('reading a dispatched job')),
  result: () => Promise.reject(needsDatabase('waiting for the result of a dispatched job')),
  progress: () => {
    throw needsDatabase('following the progress of a dispatched job');
  },
  cancel: () => Promise.reject(needsDatabase('cancelling a dispatched job')),
};

function needsDatabase(what: string): MillraceError {
  return new MillraceError(
    'needs-database',
    `${what}: this worker has no database, it works behind a hub. Let the dispatched job do what follows from it`,
  );
}
