import type { Logger } from '../internal/logger.js';
import type { FileKeeper } from '../storage/files/file-keeper.js';
import type { Storage } from '../storage/storage.js';
import type { HubMetrics } from './hub-metrics.js';
import type { HubSettings } from './hub-options.js';

/** What becomes of a worker that says hello. */
export type Admission =
  | {
      readonly ok: true;
      /** Tells once when what let it in holds no more; to be disposed of with the connection. */
      readonly hold?: (onEnd: (reason: string) => void) => Disposable;
    }
  | {
      readonly ok: false;
      readonly reason: string;
    };

/** Asked with the token of the hello (undefined: it sent none) and where it came from. Rejects while nobody can know. */
export type Authenticate = (token: string | undefined, address: string) => Promise<Admission>;

/** What the parts of a hub share. */
export interface HubContext {
  /** New at each boot. */
  readonly hubId: string;
  readonly settings: HubSettings;
  readonly logger: Logger;
  readonly metrics: HubMetrics;
  readonly authenticate: Authenticate;
  readonly random: () => number;
  /** Where it keeps the files of jobs. */
  readonly files: FileKeeper;
  /** Once it is open; rejects when the hub stops before. */
  storage(): Promise<Storage>;
  /** The database's clock as last read and counted on since, epoch ms. */
  databaseNowMs(): number;
}
