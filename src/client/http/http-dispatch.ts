import { MillraceError } from '../../internal/errors.js';
import { uuidv7 } from '../../internal/uuid.js';
import type { DispatchWishes } from '../../protocol/http/job-requests.js';
import type { NewJob } from '../../storage/new-job.js';
import { encodeInput } from '../codec.js';
import type { Definitions } from '../definitions.js';
import { type ResolvedDispatch, resolveDispatch } from '../dispatch-options.js';
import { type JobDefinition, versionOf } from '../job-definition.js';
import type { ResolvedLimit } from '../limit-option.js';
import type { ResolvedUnique } from '../unique-option.js';

/** A job as it goes to a hub: its id, what it waits for, and its entry as JSON. */
export interface HttpDispatch {
  readonly id: string;
  readonly name: string;
  readonly after: NewJob['after'];
  readonly text: string;
}

const maxPayloadBytes = 1024 ** 2;

/**
 * Checks a dispatch by the rules of `Millrace`, and says all of it that its definition knows, so that a hub without the
 * definition makes the same job of it. It always has an id: sent again, it is the same job.
 *
 * @throws MillraceError for options and inputs that can't be
 */
export async function dispatchEntry(
  definitions: Definitions,
  job: JobDefinition | string,
  { input, options = {} }: { readonly input: unknown; readonly options?: object | undefined },
): Promise<HttpDispatch> {
  const { definition, template } = definitions.find(job);
  if ('tx' in options && options.tx !== undefined) throw noTransaction();
  const resolved = resolveDispatch(options, template);
  const id = resolved.id ?? uuidv7();
  const { name } = definition;
  const payload = await encodeInput(definition, input, maxPayloadBytes);
  const declared = typeof job !== 'string' || definitions.known(job) !== undefined ? definition : null;
  const wishes: DispatchWishes = {
    ...ownWishes(resolved, id),
    ...(declared === null ? {} : definitionWishes(declared, resolved)),
    unique: uniqueWish(resolved.unique === undefined ? declared?.unique : resolved.unique, input),
    limit: limitWish(resolved.limit === undefined ? declared?.limit : resolved.limit, input),
  };
  const text = `{"name":${JSON.stringify(name)},"payload":${payload},"options":${JSON.stringify(wishes)}}`;
  return { id, name, after: resolved.after, text };
}

function ownWishes(resolved: ResolvedDispatch, id: string): DispatchWishes {
  const { queue, tags, priority, due, maxAttempts, cost, requires, idempotencyKey, after } = resolved;
  return {
    id,
    queue,
    tags: tags === undefined ? undefined : [...tags],
    priority,
    delay: due !== undefined && 'inMs' in due ? due.inMs : undefined,
    runAt: due !== undefined && 'atMs' in due ? due.atMs : undefined,
    attempts: maxAttempts,
    cost,
    requires: requires === undefined ? undefined : [...requires],
    idempotencyKey,
    after: after === null ? undefined : { jobs: [...after.ids], onFailure: after.onFailure },
  };
}

/** What the definition says where the dispatch says nothing. */
function definitionWishes(definition: JobDefinition, resolved: ResolvedDispatch): DispatchWishes {
  return {
    queue: resolved.queue ?? definition.queue,
    tags: [...(resolved.tags ?? definition.tags)],
    priority: resolved.priority ?? definition.priority,
    attempts: resolved.maxAttempts ?? definition.maxAttempts,
    cost: resolved.cost ?? definition.cost,
    requires: [...(resolved.requires ?? definition.requires)],
    version: versionOf(definition),
    retention: definition.retentionMs ?? undefined,
  };
}

/** Undefined: the hub's definition decides, where it has one. */
function uniqueWish(unique: ResolvedUnique | null | undefined, input: unknown): DispatchWishes['unique'] {
  if (unique === undefined) return undefined;
  if (unique === null) return false;
  const { key, scope, periodMs } = unique;
  return {
    key: typeof key === 'function' ? key(input as never) : (key ?? undefined),
    ...(scope === 'period' ? { period: periodMs } : { while: scope }),
  };
}

function limitWish(limit: ResolvedLimit | null | undefined, input: unknown): DispatchWishes['limit'] {
  if (limit === undefined) return undefined;
  if (limit === null) return false;
  const { group, max, key } = limit;
  return {
    group,
    max: max ?? undefined,
    key: typeof key === 'function' ? key(input as never) : (key ?? undefined),
  };
}

/** What is asked over HTTP can't be in a transaction of the caller's. */
export function noTransaction(): MillraceError {
  return new MillraceError(
    'option-invalid',
    'option "tx": what is asked over HTTP can’t be part of a transaction of yours. Use Millrace with the database for that',
  );
}
