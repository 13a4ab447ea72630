import { type Priority, parsePriority } from '../core/priority.js';
import { parseQueueName } from '../core/queue-name.js';
import type { Duration } from '../internal/duration.js';
import { encodePayload } from '../internal/json.js';
import type { JobEdit } from '../storage/settlement.js';
import { encodeInput } from './codec.js';
import type { Definitions } from './definitions.js';
import { dueOption } from './due-option.js';
import { versionOf } from './job-definition.js';
import { OptionProblems } from './option-problems.js';
import type { MaybePromise } from './schema.js';

/** What to change of a job that waits; what is left out stays. */
export interface EditOptions {
  /** The whole new input. The schema of the job must accept it, where this client knows the job. */
  readonly input?: unknown;
  readonly priority?: Priority | undefined;
  readonly queue?: string | undefined;
  /** Due so long from now. A job that waits for others has no due time to edit. */
  readonly delay?: Duration | undefined;
  /** Due at this time: a Date, epoch ms, or an ISO 8601 text with its time zone. */
  readonly runAt?: Date | number | string | undefined;
}

export const editKeys = ['input', 'priority', 'queue', 'delay', 'runAt'] as const;

/** An edit whose input is not checked yet. */
export interface ResolvedEdit {
  readonly hasInput: boolean;
  readonly input: unknown;
  readonly rest: Omit<JobEdit, 'payload' | 'version'>;
}

/** @throws MillraceError `option-unknown`, `option-invalid` with every problem at once */
export function resolveEdit(options: unknown): ResolvedEdit {
  const problems = new OptionProblems('options of edit');
  const given = problems.takeObject(options);
  problems.checkKeys(given, editKeys);
  const edit = readEdit(given, problems);
  problems.throwIfAny();
  return edit;
}

export function readEdit(given: Readonly<Record<string, unknown>>, problems: OptionProblems): ResolvedEdit {
  const { input, priority, queue } = given;
  const due = dueOption(given, problems);
  const rest = {
    ...(priority === undefined
      ? {}
      : { priority: problems.attempt(() => parsePriority(priority), undefined) ?? 0 }),
    ...(queue === undefined ? {} : { queue: problems.attempt(() => parseQueueName(queue), undefined) ?? '' }),
    ...(due === undefined ? {} : { due }),
  };
  // An input can be undefined on purpose only where it is named; `{ input: undefined }` names nothing.
  const hasInput = input !== undefined;
  if (editKeys.every((key) => given[key] === undefined)) {
    problems.add(`expected something to change, of ${editKeys.join(', ')}`);
  }
  return { hasInput, input, rest };
}

export interface EditContext {
  readonly definitions: Definitions;
  readonly maxPayloadBytes: number;
}

/**
 * The edit as storage takes it, for a job of this name. A new input has the version of the code of this client; where
 * that does not know the job, the version stays.
 *
 * @throws MillraceError `payload-invalid`, `payload-too-large`
 */
export function editFor(edit: ResolvedEdit, name: string, context: EditContext): MaybePromise<JobEdit> {
  if (!edit.hasInput) return edit.rest;
  const { definitions, maxPayloadBytes: maxBytes } = context;
  const definition = definitions.known(name);
  if (definition === undefined) {
    const payload = encodePayload(edit.input, { maxBytes, what: `input of job "${name}"` });
    return { ...edit.rest, payload };
  }
  const withPayload = (payload: string): JobEdit => ({
    ...edit.rest,
    payload,
    version: versionOf(definition),
  });
  const encoded = encodeInput(definition, edit.input, maxBytes);
  return encoded instanceof Promise ? encoded.then(withPayload) : withPayload(encoded);
}
