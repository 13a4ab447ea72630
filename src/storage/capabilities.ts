export type Engine = 'memory' | 'sqlite' | 'postgres' | 'mysql';

/** What differs between engines and may be asked; everything else is the same, and proven so. */
export interface Capabilities {
  readonly engine: Engine;
  /** Human name with version, as in `PostgreSQL 15.20`. */
  readonly server: string;
  /** Other processes can open the same database. */
  readonly shared: boolean;
  /** A job enqueued by another process wakes a waiting worker by itself; without it only polling finds it. */
  readonly push: boolean;
  /** Survives the process. */
  readonly durable: boolean;
}
