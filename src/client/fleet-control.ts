import { hostname, userInfo } from 'node:os';
import { describeValue } from '../internal/describe-value.js';
import { MillraceError } from '../internal/errors.js';
import type { SettingValues } from '../internal/settings.js';
import { uuidv7 } from '../internal/uuid.js';
import type { AuditEntry } from '../storage/audit.js';
import type { Storage } from '../storage/storage.js';
import type { WorkerChange, WorkerChangeOutcome } from '../storage/worker-record.js';
import { OptionProblems } from './option-problems.js';

/** Who does it, for the audit. */
export interface OperatorOptions {
  /** @default the user of this process, at its host */
  readonly actor?: string | undefined;
  /** From where. @default 'library' */
  readonly source?: string | undefined;
}

export type WorkerDeed = 'drain' | 'activate' | 'standby' | 'recycle' | 'forget';

export interface AuditOptions {
  /** 1 … 1000. @default 100 */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
}

/** One deed of an operator. */
export interface AuditListing extends Omit<AuditEntry, 'atMs'> {
  readonly at: Date;
}

export interface AuditPage {
  /** The newest first. */
  readonly entries: readonly AuditListing[];
  /** Where the next page begins; null on the last one. */
  readonly next: string | null;
}

const longestId = 191;
const defaultPage = 100;
const largestPage = 1000;

/** What operators do to workers; each deed is written to the audit in the transaction that does it. */
export class FleetControl {
  readonly #storage: () => Promise<Storage>;
  readonly #settings: SettingValues;

  constructor(storage: () => Promise<Storage>, settings: SettingValues) {
    this.#storage = storage;
    this.#settings = settings;
  }

  async change(deed: WorkerDeed, id: string, options: OperatorOptions = {}): Promise<WorkerChangeOutcome> {
    const { actor, source } = resolveOperator(options);
    const target = parseWorkerId(id);
    const entry = { id: uuidv7(), actor, action: `worker.${deed}`, target, source };
    return (await this.#storage()).changeWorker(target, this.#changeOf(deed), entry);
  }

  /** Writes to the audit what was done to the fleet as a whole. */
  async note(action: string, result: string, options: OperatorOptions): Promise<void> {
    const { actor, source } = resolveOperator(options);
    await (await this.#storage()).noteAudit({ id: uuidv7(), actor, action, target: 'fleet', source }, result);
  }

  async audit(options: AuditOptions = {}): Promise<AuditPage> {
    const { limit, after } = resolveAudit(options);
    const entries = await (await this.#storage()).audit({ limit, ...(after === null ? {} : { after }) });
    const last = entries.at(-1);
    return {
      entries: entries.map(({ atMs, ...entry }) => ({ ...entry, at: new Date(atMs) })),
      next: entries.length < limit || last === undefined ? null : `${last.atMs}.${last.id}`,
    };
  }

  #changeOf(deed: WorkerDeed): WorkerChange {
    switch (deed) {
      case 'drain':
      case 'standby':
        return { kind: 'admin-state', adminState: deed };
      case 'activate':
        return { kind: 'admin-state', adminState: 'active' };
      case 'recycle':
        return { kind: 'recycle' };
      case 'forget':
        return { kind: 'forget', silentForMs: this.#settings.workerTtlMs };
    }
  }
}

function parseWorkerId(id: unknown): string {
  if (typeof id === 'string' && id !== '' && id.length <= longestId && !id.includes('\0')) return id;
  throw new MillraceError(
    'option-invalid',
    `worker id: expected one that workers() lists, such as w-7f3a91c0-1, got ${describeValue(id)}`,
  );
}

/** @throws MillraceError `option-invalid`, `option-unknown` */
export function resolveOperator(options: unknown): { actor: string; source: string } {
  const problems = new OptionProblems('options of an operator');
  const given = problems.takeObject(options);
  problems.checkKeys(given, ['actor', 'source']);
  const text = (name: 'actor' | 'source', fallback: () => string): string => {
    const value = given[name];
    if (value === undefined) return fallback();
    if (typeof value === 'string' && value !== '' && value.length <= 1000 && !value.includes('\0'))
      return value;
    problems.add(`option "${name}": expected a text of 1 to 1000 characters, got ${describeValue(value)}`);
    return '';
  };
  const resolved = { actor: text('actor', currentUser), source: text('source', () => 'library') };
  problems.throwIfAny();
  return resolved;
}

/** As operators know themselves: `ada@host`. */
export function currentUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A process may run under a number that has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}

function resolveAudit(options: unknown): { limit: number; after: { atMs: number; id: string } | null } {
  const problems = new OptionProblems('options of audit');
  const given = problems.takeObject(options);
  problems.checkKeys(given, ['limit', 'cursor']);
  const { limit = defaultPage, cursor } = given;
  const isLimit = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= largestPage;
  if (!isLimit) {
    problems.add(
      `option "limit": expected a whole number from 1 to ${largestPage}, got ${describeValue(limit)}`,
    );
  }
  const position = typeof cursor === 'string' ? /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) : null;
  if (cursor !== undefined && position === null) {
    const text = `option "cursor": expected what a page before had returned, got ${describeValue(cursor)}`;
    problems.add(text, 'cursor-invalid');
  }
  problems.throwIfAny();
  const [, atMs, id] = position ?? [];
  return {
    limit: limit as number,
    after: atMs === undefined || id === undefined ? null : { atMs: Number(atMs), id },
  };
}
