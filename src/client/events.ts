import type { LaneKind } from '../core/lane-kind.js';
import type { LaneStep } from '../core/lane-steps.js';
import type { FailureRecord } from '../internal/failure.js';
import { describeFailure } from '../internal/failure.js';
import type { Logger } from '../internal/logger.js';
import { TypedEvents } from '../internal/typed-events.js';

/** Which job an event is about. */
export interface JobEventFacts {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
}

/** One attempt of a job, on a worker of this process. */
export interface AttemptEventFacts extends JobEventFacts {
  /** From 1. */
  readonly attempt: number;
  readonly workerId: string;
}

/**
 * What a client tells of, and with what. Events come from this process alone: its dispatches and its workers. They
 * are hints for logs and metrics; what must not be missed is read from the job.
 */
export interface MillraceEvents {
  /** Not for a dispatch inside a transaction of yours, whose commit is not seen here. */
  'job:dispatched': JobEventFacts & { readonly deduplicated: boolean };
  'job:started': AttemptEventFacts;
  /** Its result is stored. */
  'job:completed': AttemptEventFacts & { readonly durationMs: number };
  'job:retrying': AttemptEventFacts & { readonly delayMs: number; readonly failure: FailureRecord };
  'job:snoozed': AttemptEventFacts & { readonly delayMs: number };
  'job:buried': AttemptEventFacts & { readonly reason: string; readonly failure: FailureRecord | null };
  'job:cancelled': AttemptEventFacts & { readonly reason: string | null };
  'worker:started': { readonly workerId: string };
  'worker:stopped': { readonly workerId: string };
  /** It changed its lifecycle state, as in `RECONNECTING`. */
  'worker:state': { readonly workerId: string; readonly state: string; readonly reason: string };
  /** Something is wrong with it that it does not mend by itself, or mends by starting anew. */
  'worker:unhealthy': { readonly workerId: string; readonly reason: string };
  /** Something was done about a lane: the smallest step that cures what went wrong, or a planned `replace`. */
  'lane:step': {
    readonly workerId: string;
    readonly kind: LaneKind;
    /** From 1, within its kind; 0 where it is about all of them. */
    readonly lane: number;
    readonly step: LaneStep;
    /** False: the next larger step follows. */
    readonly helped: boolean;
    readonly reason: string;
    readonly jobId: string | null;
    /** Null for a step that only begins something, as a restart does. */
    readonly tookMs: number | null;
  };
  /** Something went wrong that no call of yours was waiting for. */
  error: { readonly error: unknown; readonly during: string };
}

export type EventName = keyof MillraceEvents;

/** Events whose listeners can throw what they like: it goes to the log, and to `error` unless it came from there. */
export function createEvents(logger: Logger): TypedEvents<MillraceEvents> {
  const events: TypedEvents<MillraceEvents> = new TypedEvents<MillraceEvents>({
    onError: (error, event) => {
      logger.error(`a listener of ${event} failed`, { error: describeFailure(error) });
      if (event !== 'error') events.emit('error', { error, during: `listener of ${event}` });
    },
  });
  return events;
}
