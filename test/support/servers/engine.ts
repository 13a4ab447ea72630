/** `mysql` is whichever of MariaDB and MySQL is found; `mysql8` is Oracle's MySQL, only when it is named. */
export const SERVER_ENGINES = ['postgres', 'mysql', 'mysql8'] as const;
export type ServerEngine = (typeof SERVER_ENGINES)[number];

export interface ResolvedServer {
  /** Administrative URL: may create and drop databases. */
  url: string;
  /** Product with version: `PostgreSQL 15.20`, `MariaDB 10.11.19`. */
  version: string;
  source: 'environment' | 'default port' | 'private';
}

export interface MissingServer {
  /** What to do about it, in a few words. */
  missing: string;
  /** What was tried and how it failed. */
  refusals: string[];
}

export interface FoundDatabase {
  name: string;
  inUse: boolean;
}

export interface PrivateServer {
  url: string;
  stop(): Promise<void>;
}

/** What the support code needs to know about one kind of server. */
export interface EngineAdapter {
  environmentName: string;
  /** Tried in order; empty when the engine runs only where it is named. */
  defaultUrls: readonly string[];
  installCommand: string;
  /** Connects, checks the right to create databases, and returns product with version. */
  inspect(url: string): Promise<string>;
  /** Returns the URL of the new, empty database. */
  createDatabase(url: string, name: string): Promise<string>;
  dropDatabase(url: string, name: string): Promise<void>;
  findDatabases(url: string, prefix: string): Promise<FoundDatabase[]>;
  /** Whether this machine has the programs of such a server. */
  hasPrograms(): boolean;
  /** `folder` is empty, open to every account, and removed by the caller. */
  startPrivate(folder: string): Promise<PrivateServer>;
}
