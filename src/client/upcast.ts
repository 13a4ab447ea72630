import { MillraceError } from '../internal/errors.js';
import type { JobDefinition, Upcast } from './job-definition.js';
import type { MaybePromise } from './schema.js';

/**
 * A payload lifted from its version to that of the code, step by step. What a lift throws is an ordinary failure of the
 * attempt: a deploy may correct it, so it is retried.
 *
 * @throws MillraceError `upcast-failed` with what the lift threw as its cause
 */
export function liftPayload(
  { name, upcast }: Pick<JobDefinition, 'name' | 'upcast'>,
  value: unknown,
  version: number,
): MaybePromise<unknown> {
  let lifted: unknown = value;
  for (let step = version; step <= upcast.length; step += 1) {
    const lift = upcast[step - 1] as Upcast;
    try {
      lifted = lift(lifted as never);
    } catch (error) {
      throw failed(name, step, error);
    }
    if (lifted instanceof Promise) {
      return lifted.then(
        (next) => liftPayload({ name, upcast }, next, step + 1),
        (error: unknown) => {
          throw failed(name, step, error);
        },
      );
    }
  }
  return lifted;
}

function failed(name: string, step: number, error: unknown): MillraceError {
  const why = error instanceof Error ? error.message : String(error);
  return new MillraceError(
    'upcast-failed',
    `input of job "${name}": the lift from version ${step} to ${step + 1} failed: ${why}`,
    { details: { name, from: step, to: step + 1 }, cause: error },
  );
}
