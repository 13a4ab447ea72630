/**
 * The place where a client and the child process of a lane that loads its module meet: the child puts itself there before
 * it loads the module, and every client that the module makes offers itself. It is found by a symbol, since the module may
 * come with another copy of the package.
 *
 * In such a child nothing starts: a worker that is told to start tells the child that its client is complete, and never
 * says that it has started, so that what follows in the module (a server, a first dispatch) is not done once a lane.
 */
import type { EnqueueOutcome, NewJob } from '../storage/new-job.js';
import type { Storage } from '../storage/storage.js';
import type { ClientCore } from './client-core.js';
import { Dispatcher } from './dispatch.js';
import type { DispatchOptions } from './dispatch-options.js';
import { EnqueueLine } from './enqueue-line.js';
import type { JobDefinition, RunnableJob } from './job-definition.js';
import type { JobHandle } from './job-handle.js';

/** What a client is to a lane. */
export interface OfferedClient {
  readonly jobs: ReadonlyMap<string, RunnableJob>;
  /** Its own storage, opened on first use. */
  storage(): Promise<Storage>;
  /** That storage where it is open, else null. */
  readonly openStorage: Storage | null;
  /** A file, which is opened without a server being asked for a connection. */
  readonly isFile: boolean;
  /** `dispatch` as handlers know it, with the writing left to somebody else. */
  dispatchThrough(
    enqueue: (jobs: readonly NewJob[]) => Promise<EnqueueOutcome[]>,
  ): (job: JobDefinition | string, input: unknown, options?: DispatchOptions) => Promise<JobHandle>;
}

export interface LaneChild {
  offer(client: OfferedClient): void;
  /** A worker with these jobs was told to start. */
  started(jobs: ReadonlyMap<string, RunnableJob>): void;
}

const place = Symbol.for('millrace.lane-child');
const globals = globalThis as { [place]?: LaneChild };

/** The child of a lane that this process is, else null. */
export const laneChild = (): LaneChild | null => globals[place] ?? null;

/** Makes of this process the child of a lane. */
export function becomeLaneChild(child: LaneChild): void {
  globals[place] = child;
}

/** In the child of a lane: here is a client. Elsewhere nothing. */
export function offerToLane(core: ClientCore): void {
  const { access, definitions, options, settings, events, handles, costs } = core;
  laneChild()?.offer({
    jobs: definitions.runnable,
    storage: () => access.get(),
    get openStorage() {
      return access.current;
    },
    isFile: typeof options.database === 'string' && options.database.startsWith('sqlite:'),
    dispatchThrough(enqueue) {
      const through = { current: { enqueue }, isClosed: false, get: () => Promise.resolve({ enqueue }) };
      const line = new EnqueueLine(through, { timeoutMs: options.dispatchTimeoutMs, random: Math.random });
      const { maxPayloadBytes } = settings;
      const dispatcher = new Dispatcher({
        definitions,
        line,
        access,
        events,
        handles,
        costs,
        maxPayloadBytes,
      });
      return (job, input, given) => dispatcher.dispatch(job, input, given);
    },
  });
}
