/**
 * A lane: one execution slot that is a resource of its own, a child process or a slot that owns a Chrome. It takes one
 * attempt at a time. (Inline slots are no resource and so no lanes in this sense: see `runner.ts`.)
 *
 *   stopped ──start──▶ starting ──is well──▶ idle ⇄ busy (one attempt)
 *                        ▲  └──fails again and again──▶ quarantined (takes nothing, says why, is probed) ──is well──▶ idle
 *                        └──── died ◀── idle, busy
 *   any ──stop──▶ stopping ──▶ stopped
 *
 * Who does what:
 * - The lane keeps itself well: it restarts what died, slows down, quarantines, kills what ignores an abort after its
 *   grace, and never gives out what it has not seen alive. Each change of state is told by `LanePorts.onChange`.
 * - The runner decides which attempt runs, when it times out or is called off (`abort`), and settles what the lane answers.
 *   A lane never speaks to storage about leases.
 *
 * Promises: `start`, `run` and `stop` never reject and each ends within a bounded time after its cause (an abort ends `run`
 * within the grace and a kill). A death costs the attempt in this lane and nothing else.
 */
import type { LaneKind } from '../../core/lane-kind.js';
import type { Logger } from '../../internal/logger.js';
import type { EnqueueOutcome, NewJob } from '../../storage/new-job.js';
import type { Settlement } from '../../storage/settlement.js';
import type { Attempt } from '../attempt.js';
import type { ContextPorts } from '../attempt-context.js';
import type { LaneStepTaken } from './lane-steps.js';

/** `shut`: it is well, and takes nothing for what its note says, as a full disk. */
export type LaneState = 'starting' | 'idle' | 'busy' | 'shut' | 'quarantined' | 'stopping' | 'stopped';

/** What is told of a lane to operators: plain data. */
export interface LaneSnapshot {
  /** From 1, within its kind. */
  readonly number: number;
  readonly kind: LaneKind;
  readonly state: LaneState;
  readonly job: {
    readonly id: string;
    readonly name: string;
    readonly attempt: number;
    /** Epoch ms of this machine. */
    readonly startedAtMs: number;
  } | null;
  readonly pid: number | null;
  readonly restarts: number;
  readonly jobsDone: number;
  readonly rssBytes: number | null;
  /** Why it is quarantined or restarts; null when it is well. */
  readonly note: string | null;
}

/** What an attempt used up. */
export interface LaneUsage {
  readonly cpuMs: number;
  readonly peakRssBytes: number;
}

export type LaneEnding =
  /** The attempt ended by itself. Settlement null: its lease is lost and nothing is to be settled. */
  | { readonly kind: 'settled'; readonly settlement: Settlement | null; readonly usage: LaneUsage | null }
  /** The lane died under it, or killed what ignored an abort (then `attempt.abortCause` says what is settled). */
  | {
      readonly kind: 'died';
      readonly exitCode: number | null;
      readonly signal: string | null;
      /** In words: `exited with code 134`, `used more than its 512 MB`. */
      readonly reason: string;
      /** The end of what it wrote to stderr: printable, at most 2 KB; empty when it wrote nothing. */
      readonly tail: string;
      readonly usage: LaneUsage | null;
    }
  /** It could not begin: nothing ran, so nothing is charged and no death is counted; the job is put back. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface Lane {
  readonly kind: LaneKind;
  readonly number: number;
  readonly state: LaneState;
  /** Since its worker started, at least once. */
  readonly wasWell: boolean;
  /** Resolves once it is idle, quarantined or stopped. */
  start(): Promise<void>;
  /** Only while `idle`; busy until it resolves. */
  run(attempt: Attempt): Promise<LaneEnding>;
  /** `attempt.abortCause` is set: fires its signal in the lane, and after the grace kills the group. Idempotent. */
  abort(attempt: Attempt): void;
  /** Ends what it runs, which is then told as `died`; within the time given. */
  stop(options: { readonly deadlineMs: number }): Promise<void>;
  snapshot(): LaneSnapshot;
}

/** Members of a handler's context that exist in this kind of lane only. */
export type LaneContext = Readonly<Record<string, unknown>>;

/** What a lane has of its worker. */
export interface LanePorts {
  /** For contexts: log, dispatch, renew and settle, in the name of an attempt. */
  readonly context: ContextPorts;
  /**
   * Runs the handler of an attempt in this process, with what the lane adds to its context; as `Executor.run`. Null: its
   * lease is lost.
   */
  readonly run: (attempt: Attempt, added: LaneContext) => Promise<Settlement | null>;
  /** For dispatches that were prepared in a process of the lane. */
  readonly enqueue: (jobs: readonly NewJob[]) => Promise<EnqueueOutcome[]>;
  readonly workerId: string;
  readonly maxPayloadBytes: number;
  readonly killGraceMs: number;
  readonly logger: Logger;
  readonly random: () => number;
  /** Best knowledge of the database's clock, epoch ms. */
  readonly now: () => number;
  /** A lane changed its state: it may be free, or gone. */
  readonly onChange: () => void;
  /** Something was done about a lane that went wrong; the lane itself has logged it. */
  readonly onStep: (taken: LaneStepTaken) => void;
}

/** Brings the lanes of one kind into a worker. A kind registers itself by being in the worker's list of sources. */
export interface LaneSource {
  readonly kind: LaneKind;
  /** What the registration of the worker tells of them, as plain data. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Why they take no jobs for want of disk, in words; null: they do. */
  readonly diskAlarm?: () => string | null;
  /** Makes them, not yet started; called once for each start of the worker. */
  create(ports: LanePorts): readonly Lane[];
}
