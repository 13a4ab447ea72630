/** A hub says so every … */
export const hubBeatMs = 5_000;
/** A hub that missed three of its heartbeats is not known to be alive. */
const hubFreshMs = 3 * hubBeatMs;

export const isHubAlive = ({ silentForMs }: Pick<HubRecord, 'silentForMs'>): boolean =>
  silentForMs < hubFreshMs;

/** What a hub says of itself, again and again. */
export interface HubReport {
  /** New at each boot of a hub. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Where other hubs reach it; null: nowhere. */
  readonly advertiseUrl: string | null;
  /** Workers connected to it. */
  readonly connections: number;
  /** Everything else worth showing, by name. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface HubRecord extends HubReport {
  readonly startedAtMs: number;
  readonly heartbeatAtMs: number;
  /** Since the last heartbeat, by the database's clock. */
  readonly silentForMs: number;
}

/** A hub that was silent for so long is left out of every answer, and swept. */
export const hubKeptMs = 86_400_000;
