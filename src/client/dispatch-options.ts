import { parseTags } from '../core/job-tags.js';
import { type Priority, parsePriority } from '../core/priority.js';
import { parseQueueName } from '../core/queue-name.js';
import { describeValue } from '../internal/describe-value.js';
import type { Duration } from '../internal/duration.js';
import { parseLabels } from '../internal/labels.js';
import { isUuid } from '../internal/uuid.js';
import type { FailedParentPolicy, NewJob } from '../storage/new-job.js';
import type { SyncUserTransaction, UserTransaction } from '../storage/transaction/user-transaction.js';
import { attemptsOption } from './define-job.js';
import { dueOption } from './due-option.js';
import { costOption, type DispatchLimit, type ResolvedLimit, resolveDispatchLimit } from './limit-option.js';
import { OptionProblems } from './option-problems.js';
import { type ResolvedUnique, resolveUnique, type UniqueOption } from './unique-option.js';

/** A job to wait for: its handle, or its id. */
export type JobReference = string | { readonly id: string };

/** What holds for one dispatch, before what its definition says. */
export interface DispatchOptions<Input = unknown> {
  /** A UUID of your own, as `newJobId()` makes it: a repeat of the same id never makes a second job. */
  readonly id?: string | undefined;
  readonly queue?: string | undefined;
  /** Words to find it by, instead of those of its definition. */
  readonly tags?: readonly string[] | undefined;
  readonly priority?: Priority | undefined;
  /** Due so long from now. */
  readonly delay?: Duration | undefined;
  /** Due at this time: a Date, epoch ms, or an ISO 8601 text with its time zone. */
  readonly runAt?: Date | number | string | undefined;
  /** Failed attempts after which it is buried. */
  readonly attempts?: number | undefined;
  readonly unique?: UniqueOption<Input> | undefined;
  /** Instead of what its definition says of it, such as `{ key: tenant }`; false: none. */
  readonly limit?: DispatchLimit | false | undefined;
  /** Its weight against budgets. */
  readonly cost?: number | undefined;
  /** Labels that a worker must have, instead of those of its definition. */
  readonly requires?: string | readonly string[] | undefined;
  /** The same key with the same job and input answers with the first job; with another input it is an error. */
  readonly idempotencyKey?: string | undefined;
  /**
   * Runs once these have completed. Of one that fails instead: `bury` this job too, `cancel` it, or `run` it all the
   * same. @default onFailure 'bury'
   */
  readonly after?:
    | JobReference
    | readonly JobReference[]
    | {
        readonly jobs: JobReference | readonly JobReference[];
        readonly onFailure?: FailedParentPolicy | undefined;
      }
    | undefined;
  /**
   * An open transaction of yours, on the database that holds the jobs: the job is written with it, and no worker sees
   * it before your commit. What fails is never tried again by itself. The transaction of `pg`, `mysql2`, Kysely, Drizzle
   * or Prisma; for better-sqlite3 see `dispatchSync`.
   */
  readonly tx?: UserTransaction | undefined;
}

/** The options of `dispatchSync`. */
export type SyncDispatchOptions<Input = unknown> = Omit<DispatchOptions<Input>, 'tx'> & {
  /** A better-sqlite3 database in a transaction, or a transaction of Drizzle on it. */
  readonly tx: SyncUserTransaction;
};

/** The arguments behind the job in `dispatchSync`. */
export type SyncDispatchArguments<Input> = [
  input: undefined extends Input ? Input | undefined : Input,
  options: SyncDispatchOptions<Input>,
];

/** An input may be left out where its type admits undefined. */
export type DispatchArguments<Input> = undefined extends Input
  ? [input?: Input, options?: DispatchOptions<Input>]
  : [input: Input, options?: DispatchOptions<Input>];

/** What was given; undefined where nothing was. */
export interface ResolvedDispatch {
  readonly id: string | undefined;
  readonly queue: string | undefined;
  /** Undefined: the definition decides. */
  readonly tags: readonly string[] | undefined;
  readonly priority: number | undefined;
  readonly due: NewJob['due'] | undefined;
  readonly maxAttempts: number | undefined;
  /** Undefined: the definition decides. Null: not unique. */
  readonly unique: ResolvedUnique | null | undefined;
  /** Undefined: the definition decides. Null: none. */
  readonly limit: ResolvedLimit | null | undefined;
  readonly cost: number | undefined;
  readonly requires: readonly string[] | undefined;
  readonly idempotencyKey: string | undefined;
  readonly after: NewJob['after'];
}

const known = [
  'id',
  'queue',
  'tags',
  'priority',
  'delay',
  'runAt',
  'attempts',
  'unique',
  'limit',
  'cost',
  'requires',
  'idempotencyKey',
  'after',
  'tx',
] as const;
const policies: readonly unknown[] = ['bury', 'cancel', 'run'] satisfies FailedParentPolicy[];
const longestIdempotencyKey = 1000;

/** @throws MillraceError `option-unknown`, `option-invalid` with every problem at once */
export function resolveDispatch(
  options: unknown,
  { name, limit }: { readonly name: string; readonly limit: ResolvedLimit | null },
): ResolvedDispatch {
  const problems = new OptionProblems(`options of a dispatch of job "${name}"`);
  const given = problems.takeObject(options);
  problems.checkKeys(given, known);
  const { queue, tags, priority, attempts, requires } = given;
  const resolved = {
    id: given['id'] === undefined ? undefined : idOption('option "id"', given['id'], problems),
    queue: queue === undefined ? undefined : problems.attempt(() => parseQueueName(queue), undefined),
    tags:
      tags === undefined ? undefined : problems.attempt(() => parseTags(tags, 'option "tags"'), undefined),
    priority: priority === undefined ? undefined : problems.attempt(() => parsePriority(priority), undefined),
    due: dueOption(given, problems),
    maxAttempts: attempts === undefined ? undefined : attemptsOption(attempts, problems),
    unique: given['unique'] === undefined ? undefined : resolveUnique(given['unique'], problems),
    limit: resolveDispatchLimit(given['limit'], limit, problems),
    cost: costOption(given['cost'], problems),
    requires:
      requires === undefined
        ? undefined
        : problems.attempt(() => parseLabels(requires, 'option "requires"'), undefined),
    idempotencyKey: idempotencyOption(given['idempotencyKey'], problems),
    after: given['after'] === undefined ? null : afterOption(given['after'], problems),
  };
  problems.throwIfAny();
  return resolved;
}

function idOption(name: string, value: unknown, problems: OptionProblems): string {
  if (typeof value === 'string' && isUuid(value)) return value.toLowerCase();
  problems.add(`${name}: expected a UUID such as newJobId() makes, got ${describeValue(value)}`);
  return '';
}

function idempotencyOption(value: unknown, problems: OptionProblems): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value !== '' && value.length <= longestIdempotencyKey) return value;
  problems.add(
    `option "idempotencyKey": expected a text of 1 to ${longestIdempotencyKey} characters, got ${describeValue(value)}`,
  );
  return undefined;
}

function afterOption(value: unknown, problems: OptionProblems): NewJob['after'] {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value) && !('id' in value);
  const { jobs, onFailure } = (isGroup ? value : { jobs: value }) as Record<string, unknown>;
  if (isGroup) problems.checkKeys(value as Record<string, unknown>, ['jobs', 'onFailure'], 'after.');
  if (onFailure !== undefined && !policies.includes(onFailure)) {
    problems.add(
      `option "after.onFailure": expected 'bury', 'cancel' or 'run', got ${describeValue(onFailure)}`,
    );
  }
  const references: readonly unknown[] = Array.isArray(jobs) ? jobs : [jobs];
  const ids = references.map((reference) =>
    idOption(
      'option "after"',
      typeof reference === 'object' && reference !== null && 'id' in reference ? reference.id : reference,
      problems,
    ),
  );
  if (ids.length === 0) return null;
  return { ids: [...new Set(ids)], onFailure: (onFailure as FailedParentPolicy | undefined) ?? 'bury' };
}
