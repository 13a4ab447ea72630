export type AdminState = 'active' | 'drain' | 'standby';

/** A lane, or all inline slots as one. */
export interface LaneReport {
  readonly kind: 'inline' | 'process' | 'browser';
  /** From 1 within its kind; 0 for the inline slots. */
  readonly number: number;
  readonly state: string;
  /** Jobs it can run at once: 1, or the number of inline slots. */
  readonly width: number;
  readonly running: number;
  /** What runs there, the longest running first, at most 10. Times are of the worker's own clock, epoch ms. */
  readonly jobs: readonly {
    readonly id: string;
    readonly name: string;
    readonly attempt: number;
    readonly startedAtMs: number;
  }[];
  /** Of a process of its own. */
  readonly pid: number | null;
  readonly restarts: number;
  readonly jobsDone: number;
  readonly rssBytes: number | null;
  /** Why it is not well; null when it is. */
  readonly note: string | null;
}

export interface WorkerUsage {
  /** Of one processor since the last report: 0.5 is half of one, 2 is two. */
  readonly cpu: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  /** The longest time that the main loop did not turn, since the last report, ms. */
  readonly loopLagMs: number;
  /** Of the file system that holds the state folder; null without one. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
}

/** One change of the lifecycle state. Time of the worker's own clock, epoch ms. */
export interface WorkerTransition {
  readonly state: string;
  readonly atMs: number;
  readonly reason: string;
}

/** Why it takes no more jobs. */
export interface DrainReport {
  readonly reason: string;
  readonly owner: string;
  /** When its handlers are aborted, epoch ms of the worker's clock; null: they end by their own timeouts. */
  readonly deadlineAtMs: number | null;
}

/** What a worker says of itself at registration and with every heartbeat. */
export interface WorkerReport {
  readonly id: string;
  /** 16 hex characters, new at each boot. */
  readonly incarnation: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly link: 'storage' | 'hub';
  /** The hub that it is connected to; null on a storage link. */
  readonly hubId: string | null;
  /** Lifecycle state in capitals, as in `STARTING`, `RUNNING`, `DRAINING`. */
  readonly state: string;
  /** The last changes of that state, oldest first, at most 10. */
  readonly transitions: readonly WorkerTransition[];
  readonly drain: DrainReport | null;
  readonly queues: readonly string[];
  readonly handlers: readonly string[];
  readonly labels: readonly string[];
  readonly concurrency: number;
  readonly running: number;
  readonly lanes: readonly LaneReport[];
  readonly jobsDone: number;
  /** How often a process or start came after the first under this id; 0 for an id that is not kept. */
  readonly restarts: number;
  readonly usage: WorkerUsage;
  /** Everything else worth showing, by name. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface WorkerRecord extends WorkerReport {
  readonly adminState: AdminState;
  /** An operator asked this incarnation to drain and end, so that a new one takes its place. */
  readonly recycleAsked: boolean;
  /** When this incarnation first registered. */
  readonly startedAtMs: number;
  readonly heartbeatAtMs: number;
  /** Since the last heartbeat, by the database's clock. */
  readonly silentForMs: number;
  /** It said goodbye. */
  readonly gone: boolean;
  /** Rises with each registration of this id, whatever the incarnation, also across a time when it was forgotten; 0 for one from before there were epochs. */
  readonly connectionEpoch: number;
  /** Since the hub lost its socket, by the database's clock; null: it is connected, or on a storage link. */
  readonly disconnectedForMs: number | null;
}

/** What came of a registration. */
export interface Registration {
  /** `taken`: the id belongs to another incarnation that was heard lately. */
  readonly outcome: 'registered' | 'taken';
  readonly adminState: AdminState;
  /** The `connectionEpoch` of the registration that now stands. */
  readonly epoch: number;
}

/** What came of a heartbeat. */
export interface HeartbeatAnswer {
  readonly outcome: 'ok' | 'unknown' | 'superseded';
  readonly adminState: AdminState;
}

/**
 * An epoch that no forgotten registration of the same id had: the first one of a row is the number of 20 seconds since
 * 1970, plus one, and from there each registration counts up by one. Seven hex digits hold it until the year 2140.
 */
export const epochUnitMs = 20_000;

export const firstEpoch = (nowMs: number): number => Math.floor(nowMs / epochUnitMs) + 1;

/** Orders that differ from the ordinary (`active`, no recycle), of all workers; asked every second by a hub. */
export interface FleetOrders {
  readonly workers: readonly {
    readonly id: string;
    readonly adminState: AdminState;
    readonly recycleAsked: boolean;
  }[];
  /** Names of all paused queues, in order. */
  readonly paused: readonly string[];
}

/** What operators want of a worker, and what it needs to know every second. */
export interface WorkerOrders {
  readonly adminState: AdminState;
  readonly recycleAsked: boolean;
  /** Names of all paused queues, in order. */
  readonly paused: readonly string[];
}

/** What an operator does to a worker. */
export type WorkerChange =
  | { readonly kind: 'admin-state'; readonly adminState: AdminState }
  /** Of the incarnation that is registered now; a later one does not inherit it. */
  | { readonly kind: 'recycle' }
  /** Removes the registration and its `adminState`; only of a worker that said goodbye or was silent for so long. */
  | { readonly kind: 'forget'; readonly silentForMs: number };

/** `alive`: to be forgotten, but it said goodbye to nobody and was heard lately. */
export type WorkerChangeOutcome = 'done' | 'not-found' | 'alive';

/** A report as an engine keeps it; what an older version wrote lacks what came later. */
export function readReport(json: string): WorkerReport {
  const report = JSON.parse(json) as Omit<WorkerReport, 'hubId'> & Partial<WorkerReport>;
  return { ...report, hubId: report.hubId ?? null };
}
