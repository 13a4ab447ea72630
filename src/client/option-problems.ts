import { describeValue } from '../internal/describe-value.js';
import type { ErrorCode } from '../internal/error-codes.js';
import { isMillraceError, MillraceError } from '../internal/errors.js';
import { nearestName } from '../internal/nearest-name.js';

interface Problem {
  readonly code: ErrorCode;
  readonly text: string;
}

/** Gathers everything that is wrong with the options of one call, so that one error can tell it all. */
export class OptionProblems {
  readonly #what: string;
  readonly #problems: Problem[] = [];

  /** @param what the call in words: `options of job "thumbnail"` */
  constructor(what: string) {
    this.#what = what;
  }

  add(text: string, code: ErrorCode = 'option-invalid'): void {
    this.#problems.push({ code, text });
  }

  /** The options as a record of what was really given; anything else than an object is a problem. */
  takeObject(given: unknown): Readonly<Record<string, unknown>> {
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
      return given as Readonly<Record<string, unknown>>;
    }
    this.add(`expected an object, got ${describeValue(given)}`);
    return {};
  }

  /** Keys that are set but not known. */
  checkKeys(given: Readonly<Record<string, unknown>>, known: readonly string[], within = ''): void {
    for (const key of Object.keys(given)) {
      if (given[key] === undefined || known.includes(key)) continue;
      const nearest = nearestName(key, known);
      const fix = nearest === undefined ? `Known are ${known.join(', ')}` : `Did you mean "${nearest}"?`;
      this.add(`there is no option "${within}${key}". ${fix}`, 'option-unknown');
    }
  }

  /** What `parse` answers, or `fallback` when it refuses; its reason is kept. */
  attempt<T, F>(parse: () => T, fallback: F): T | F {
    try {
      return parse();
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      this.add(error.message, error.code);
      return fallback;
    }
  }

  /** @throws MillraceError with every problem: the code of the only one, or `option-invalid` for several kinds */
  throwIfAny(): void {
    const [first] = this.#problems;
    if (first === undefined) return;
    const texts = this.#problems.map(({ text }) => text);
    const isOneCode = this.#problems.every(({ code }) => code === first.code);
    const message =
      texts.length === 1
        ? `${this.#what}: ${texts[0]}`
        : `${this.#what}: ${texts.length} problems:\n${texts.map((text) => `  ${text}`).join('\n')}`;
    throw new MillraceError(isOneCode ? first.code : 'option-invalid', message, {
      details: { problems: Object.freeze(texts) },
    });
  }
}
