import { momentOf } from '../client/due-option.js';
import type { Moment } from '../client/jobs-where.js';
import { OptionProblems } from '../client/option-problems.js';
import { parseJobName } from '../core/job-name.js';
import { parsePriority } from '../core/priority.js';
import { parseQueueName } from '../core/queue-name.js';
import { describeValue } from '../internal/describe-value.js';
import { parseDuration } from '../internal/duration.js';

/**
 * The values of a command's flags and arguments, checked before a database is opened; everything that is wrong is told at
 * once, in the words of the command line.
 */
export class FlagValues {
  readonly #problems: OptionProblems;

  /** @param command its name: `dispatch` */
  constructor(command: string) {
    this.#problems = new OptionProblems(command);
  }

  /** What `parse` answers, or undefined where it refuses or nothing was given. */
  take<T>(value: string | undefined, parse: (value: string) => T): T | undefined {
    return value === undefined ? undefined : this.#problems.attempt(() => parse(value), undefined);
  }

  queue(value: string | undefined): string | undefined {
    return this.take(value, parseQueueName);
  }

  name(value: string | undefined): string | undefined {
    return this.take(value, parseJobName);
  }

  priority(value: string | undefined): number | undefined {
    return this.take(value, (text) => parsePriority(text, '--priority'));
  }

  /** In ms. */
  duration(flag: string, value: string | undefined, min = 0): number | undefined {
    return this.take(value, (text) => flagDuration(flag, text, min));
  }

  /** A time, or how long ago, as `jobs` of the library takes it. */
  moment(flag: string, value: string | undefined): Moment | undefined {
    return this.take(value, (text) => {
      const atMs = momentOf(text);
      return atMs === null
        ? `${flagDuration(`${flag} (how long ago, or a time such as 2030-01-31T08:00:00Z)`, text)}ms`
        : new Date(atMs);
    });
  }

  count(flag: string, value: string | undefined, max: number): number | undefined {
    if (value === undefined) return undefined;
    const count = /^\d+$/.test(value) ? Number(value) : 0;
    if (count >= 1 && count <= max) return count;
    this.#problems.add(`${flag}: expected a whole number from 1 to ${max}, got ${describeValue(value)}`);
    return undefined;
  }

  choice<Word extends string>(
    flag: string,
    value: string | undefined,
    words: readonly Word[],
  ): Word | undefined {
    const found = words.find((word) => word === value);
    if (found === undefined && value !== undefined) {
      this.#problems.add(`${flag}: expected one of ${words.join(', ')}, got ${describeValue(value)}`);
    }
    return found;
  }

  /** @throws MillraceError with every problem */
  throwIfAny(): void {
    this.#problems.throwIfAny();
  }
}

/** A length of time, in ms. On the command line a number without a unit counts seconds, as it does for settings. */
export function flagDuration(flag: string, text: string, min = 0): number {
  const isBare = /^\s*\d+(\.\d+)?\s*$/.test(text);
  return parseDuration(isBare ? `${text.trim()}s` : text, { name: flag, min });
}
