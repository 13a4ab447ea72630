import { MillraceError } from '../../internal/errors.js';
import { isBusy, toMillraceError } from './errors.js';
import { Pause } from './pause.js';

export interface PatienceOptions {
  /** What is being done, for the message. */
  readonly name: string;
  readonly file: string;
  readonly deadlineMs: number;
}

/**
 * Tries until the file is not held by another connection, leaving the event loop free in between. `undefined` counts as
 * held. The first try is made before this returns.
 *
 * @throws MillraceError `database-locked` after the deadline; any other error at once
 */
export async function whenUnlocked<T>(
  attempt: () => T | undefined | Promise<T | undefined>,
  { name, file, deadlineMs }: PatienceOptions,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  const pause = new Pause();
  for (;;) {
    const answer = await tryOnce(attempt, file);
    if (answer !== undefined) return answer;
    if (performance.now() >= end) {
      throw new MillraceError(
        'database-locked',
        `${name}: another connection held the SQLite file ${file} for ${deadlineMs} ms. ` +
          'End the long transaction (millrace doctor shows it); then try again',
        { details: { file, deadlineMs } },
      );
    }
    await new Promise<void>((resolve) => pause.wait(resolve));
  }
}

async function tryOnce<T>(
  attempt: () => T | undefined | Promise<T | undefined>,
  file: string,
): Promise<T | undefined> {
  try {
    return await attempt();
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw toMillraceError(error, file);
  }
}
