/**
 * One life of a worker on the table of `core/worker-lifecycle.ts`: keeps its state, the drains that are asked for, and the
 * last transitions; logs and tells each with its reason. An event that can't come is logged, and nothing follows from it.
 */
import type { MillraceEvents } from '../client/events.js';
import { type Drain, endsWorker, strongestDrain, withDrain, withoutDrainOf } from '../core/worker-drain.js';
import { nextWorkerState, type WorkerEvent, type WorkerState } from '../core/worker-lifecycle.js';
import type { Logger } from '../internal/logger.js';
import type { TypedEvents } from '../internal/typed-events.js';
import type { WorkerStatus } from './link/link.js';
import { monotonicMs } from './monotonic.js';

export interface LifecycleOptions {
  readonly workerId: () => string;
  readonly logger: Logger;
  readonly events: TypedEvents<MillraceEvents>;
}

const transitionsKept = 10;

/** Drains that say the same as an event of their own. */
const eventOf: Partial<Record<Drain['reason'], WorkerEvent>> = {
  signal: 'signal',
  'second-signal': 'second-signal',
};

export class Lifecycle {
  readonly #options: LifecycleOptions;
  #state: WorkerState = 'STARTING';
  #drains: readonly Drain[] = [];
  #transitions: WorkerStatus['transitions'] = [];

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#enter('STARTING', 'started');
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** The one that counts. */
  get drain(): Drain | null {
    return strongestDrain(this.#drains);
  }

  /** Whether what comes at the end of the work is the end of the worker. */
  get isEnding(): boolean {
    return this.#drains.some(endsWorker);
  }

  /** What of it stands in the registration. */
  get status(): Pick<WorkerStatus, 'state' | 'transitions' | 'drain'> {
    const { drain } = this;
    const toEpoch = Date.now() - monotonicMs();
    return {
      state: this.#state,
      transitions: this.#transitions,
      drain:
        drain === null
          ? null
          : {
              reason: drain.reason,
              owner: drain.owner,
              deadlineAtMs: drain.deadlineMs === null ? null : Math.round(drain.deadlineMs + toEpoch),
            },
    };
  }

  /** True when it led to another state. */
  send(event: WorkerEvent, reason: string): boolean {
    const { logger, workerId } = this.#options;
    try {
      const next = nextWorkerState(this.#state, event);
      if (next === this.#state) return false;
      this.#enter(next, reason);
      return true;
    } catch (error) {
      logger.error('a worker met an event that its state does not know; it goes on', {
        worker: workerId(),
        error,
      });
      return false;
    }
  }

  /** Adds a drain; one that is weaker than another of its owner changes nothing. */
  ask(drain: Drain): void {
    this.#drains = withDrain(this.#drains, drain);
    this.send(eventOf[drain.reason] ?? 'drain-asked', `${drain.reason} (${drain.owner})`);
  }

  /** Back to RUNNING where nobody else wants a drain. */
  cancel(owner: string, reason: string): boolean {
    const before = this.#drains;
    this.#drains = withoutDrainOf(before, owner);
    if (this.#drains.length === before.length || this.#drains.length > 0) return false;
    return this.send('drain-cancelled', reason);
  }

  #enter(state: WorkerState, reason: string): void {
    const { logger, events, workerId } = this.#options;
    const before = this.#state;
    this.#state = state;
    this.#transitions = [...this.#transitions, { state, atMs: Date.now(), reason }].slice(-transitionsKept);
    logger.info(`worker: ${before === state ? '' : `${before} → `}${state}`, { worker: workerId(), reason });
    events.emit('worker:state', { workerId: workerId(), state, reason });
  }
}
