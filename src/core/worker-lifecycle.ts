/*
 * The life of a worker as a table: every state × every event is a next state, `ignored` (it may come then, and changes
 * nothing) or `illegal` (it can't come then: whoever sent it is wrong). The worker logs an illegal event and goes on.
 *
 *   STARTING ─▶ REGISTER ─▶ RUNNING ⇄ RECONNECTING        DRAINING ─▶ EXIT
 *       └───────────┴───────────┴──────────┴──── drain-asked, signal ────▲
 *
 * STARTING: lanes come up. REGISTER: the database is told who is here; failures are tried again for ever, which is no
 * event. RUNNING: claims and runs. RECONNECTING: the link is lost; what runs goes on, results wait. DRAINING: takes
 * nothing new; a lost link is reconnected without leaving it. EXIT: over; the last state of this incarnation, and the
 * only one in which a life can end. A worker that starts again begins a new life at STARTING.
 *
 * It does not promise how long a state lasts: deadlines are the drain's (worker-drain.ts) and the process's.
 */
import { MillraceError } from '../internal/errors.js';

export const workerStates = ['STARTING', 'REGISTER', 'RUNNING', 'RECONNECTING', 'DRAINING', 'EXIT'] as const;

export type WorkerState = (typeof workerStates)[number];

export const workerEvents = [
  /** At least one lane can take jobs. */
  'lanes-ready',
  /** No lane could be started. */
  'no-lane',
  /** The database knows this incarnation. */
  'registered',
  /** The database can't be reached. */
  'link-lost',
  'link-restored',
  /** Somebody wants it to take nothing more: an operator, a recycle, the program that carries it. */
  'drain-asked',
  /** The last one who wanted that, and did not want an end, no longer does. */
  'drain-cancelled',
  /** The process was told to end. */
  'signal',
  /** … and told again: at once. */
  'second-signal',
  /** The drain's time is over: handlers are aborted. */
  'deadline-passed',
  /** Their grace is over too: they are left behind, their jobs put back. */
  'grace-passed',
  /** Nothing runs and every result is acknowledged. */
  'work-done',
  /** Something that waiting can't cure. */
  'failed',
] as const;

export type WorkerEvent = (typeof workerEvents)[number];

export type Step = WorkerState | 'ignored' | 'illegal';

/** One column a state, in the order of `workerStates`. */
const table: Readonly<Record<WorkerEvent, readonly [Step, Step, Step, Step, Step, Step]>> = {
  //                  STARTING    REGISTER    RUNNING         RECONNECTING  DRAINING    EXIT
  'lanes-ready': ['REGISTER', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'],
  'no-lane': ['EXIT', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'],
  registered: ['illegal', 'RUNNING', 'ignored', 'ignored', 'ignored', 'ignored'],
  'link-lost': ['illegal', 'ignored', 'RECONNECTING', 'ignored', 'ignored', 'ignored'],
  'link-restored': ['illegal', 'ignored', 'ignored', 'RUNNING', 'ignored', 'ignored'],
  'drain-asked': ['DRAINING', 'DRAINING', 'DRAINING', 'DRAINING', 'ignored', 'ignored'],
  'drain-cancelled': ['illegal', 'illegal', 'ignored', 'ignored', 'RUNNING', 'ignored'],
  signal: ['DRAINING', 'DRAINING', 'DRAINING', 'DRAINING', 'ignored', 'ignored'],
  'second-signal': ['DRAINING', 'DRAINING', 'DRAINING', 'DRAINING', 'ignored', 'ignored'],
  'deadline-passed': ['illegal', 'illegal', 'illegal', 'illegal', 'ignored', 'ignored'],
  'grace-passed': ['illegal', 'illegal', 'illegal', 'illegal', 'EXIT', 'ignored'],
  'work-done': ['illegal', 'illegal', 'ignored', 'ignored', 'EXIT', 'ignored'],
  failed: ['EXIT', 'EXIT', 'DRAINING', 'DRAINING', 'ignored', 'ignored'],
};

/** What the table says, `illegal` included. */
export function stepOf(state: WorkerState, event: WorkerEvent): Step {
  const step = table[event]?.[workerStates.indexOf(state)];
  return step ?? 'illegal';
}

/**
 * The next state, or the same one where the event changes nothing.
 *
 * @throws MillraceError `internal` for an event that can't come in this state
 */
export function nextWorkerState(state: WorkerState, event: WorkerEvent): WorkerState {
  const step = stepOf(state, event);
  if (step === 'illegal') {
    throw new MillraceError(
      'internal',
      `worker in state ${state}: expected an event of that state, got "${event}"; it is left as it is`,
      { details: { state, event } },
    );
  }
  return step === 'ignored' ? state : step;
}
