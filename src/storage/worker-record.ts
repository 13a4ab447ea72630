export type AdminState = 'active' | 'drain' | 'standby';

/** What a worker says of itself at registration and with every heartbeat. */
export interface WorkerReport {
  readonly id: string;
  /** 16 hex characters, new at each boot. */
  readonly incarnation: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly link: 'storage' | 'hub';
  /** Lifecycle state in capitals, as in `STARTING`, `RUNNING`, `DRAINING`. */
  readonly state: string;
  readonly queues: readonly string[];
  readonly handlers: readonly string[];
  readonly concurrency: number;
  readonly running: number;
  readonly jobsDone: number;
  /** Everything else worth showing, by name: memory, CPU, loop lag, lanes. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface WorkerRecord extends WorkerReport {
  readonly adminState: AdminState;
  /** When this incarnation first registered. */
  readonly startedAtMs: number;
  readonly heartbeatAtMs: number;
  /** Since the last heartbeat, by the database's clock. */
  readonly silentForMs: number;
  /** It said goodbye. */
  readonly gone: boolean;
}
