import type { Millrace } from '../client/millrace.js';
import { MillraceError } from '../internal/errors.js';
import { guardedLogger, type Logger, silentLogger } from '../internal/logger.js';
import { heartbeatIntervalMs, resolveSettings, type SettingValues } from '../internal/settings.js';
import { helloMs, pingMs, silenceMs } from '../protocol/link-terms.js';
import { createFileKeeper, fileSettings } from '../storage/files/create-keeper.js';
import type { FileKeeper } from '../storage/files/file-keeper.js';
import type { Budgets } from '../storage/job-limit.js';
import type { Storage } from '../storage/storage.js';
import type { OwnToken } from './auth/authenticator.js';

const dayMs = 86_400_000;

export interface HubOptions {
  /** The application whose jobs are served over HTTP; its storage, settings and logger are used. It stays its owner's. */
  readonly client?: Millrace;
  /** Without a client, for the links alone: an open storage, or what opens one and rejects as `Storage.open` does. It stays its owner's. */
  readonly storage?: Storage | (() => Promise<Storage>);
  /** @default those of the client, else the defaults */
  readonly settings?: SettingValues;
  /** @default the setting `hubHost` */
  readonly host?: string;
  /** 0: any free one. @default the setting `hubPort` */
  readonly port?: number;
  /** Where other hubs reach this one; null: nowhere. @default the setting `hubAdvertiseUrl` */
  readonly advertiseUrl?: string | null;
  /** @default that of the client, else none */
  readonly logger?: Logger;
  /** Tokens of what this process starts itself; they are in no database. */
  readonly ownTokens?: readonly OwnToken[];
  /** Times of the link where they are to differ from the protocol's own. */
  readonly times?: Partial<LinkTimes>;
  /** @default Math.random */
  readonly random?: () => number;
}

export interface ResolvedHubOptions {
  readonly client: Millrace | null;
  readonly storage: () => Promise<Storage>;
  readonly values: SettingValues;
  readonly settings: HubSettings;
  readonly host: string;
  readonly port: number;
  readonly advertiseUrl: string | null;
  readonly logger: Logger;
  readonly ownTokens: readonly OwnToken[];
  readonly random: () => number;
  readonly files: FileKeeper;
}

/** @throws MillraceError `option-invalid` without client and storage */
export function resolveHubOptions(options: HubOptions): ResolvedHubOptions {
  const { client, times, ownTokens = [], random = Math.random } = options;
  const values = options.settings ?? client?.internals.settings ?? resolveSettings({}).values;
  const advertised = options.advertiseUrl ?? values.hubAdvertiseUrl;
  return {
    client: client ?? null,
    storage: storageOf(options),
    values,
    settings: hubSettings(values, times),
    host: options.host ?? values.hubHost,
    port: options.port ?? values.hubPort,
    advertiseUrl: advertised === '' ? null : advertised,
    logger: guardedLogger(options.logger ?? client?.internals.logger ?? silentLogger),
    ownTokens,
    random,
    files: client?.internals.files ?? createFileKeeper(fileSettings(values), storageOf(options)),
  };
}

function storageOf({ client, storage }: HubOptions): () => Promise<Storage> {
  if (typeof storage === 'function') return storage;
  if (storage !== undefined) return () => Promise.resolve(storage);
  if (client !== undefined) return () => client.internals.storage();
  throw new MillraceError('option-invalid', 'a hub needs a client or a storage; it was given neither');
}

/** All in ms. */
export interface LinkTimes {
  /** The first message of a connection must come within this. */
  readonly helloMs: number;
  readonly pingMs: number;
  readonly silenceMs: number;
  /** A client that did not read for so long is let go. */
  readonly slowMs: number;
  /** Between two looks at what operators want. */
  readonly fleetMs: number;
  /** Between two signs of life of the hub. */
  readonly hubBeatMs: number;
}

export const linkTimes: LinkTimes = Object.freeze({
  helloMs,
  pingMs,
  silenceMs,
  slowMs: 30_000,
  fleetMs: 1_000,
  hubBeatMs: 5_000,
});

/** All in ms but the budgets. */
export interface HubSettings extends LinkTimes {
  readonly leaseMs: number;
  /** Of workers. */
  readonly heartbeatMs: number;
  readonly ttlMs: number;
  /** The backstop of wake-ups. */
  readonly pollMs: number;
  readonly maxPayloadBytes: number;
  readonly budgets: Budgets;
  readonly retentionMs: number;
  readonly logRetentionMs: number;
  readonly staleReapMs: number;
  readonly reapIntervalMs: number;
}

function hubSettings(values: SettingValues, times: Partial<LinkTimes> = {}): HubSettings {
  return {
    ...linkTimes,
    ...times,
    leaseMs: values.staleTimeoutMs,
    heartbeatMs: heartbeatIntervalMs(values),
    ttlMs: values.workerTtlMs,
    pollMs: values.workerSleepMs,
    maxPayloadBytes: values.maxPayloadBytes,
    budgets: { queues: values.queueCostBudgets, groups: values.groupCostBudgets },
    retentionMs: values.retentionDays * dayMs,
    logRetentionMs: values.logRetentionDays * dayMs,
    staleReapMs: values.staleReapMs,
    reapIntervalMs: values.reapIntervalMs,
  };
}
