import { describeValue } from './describe-value.js';
import { formatDuration, parseDuration } from './duration.js';
import { isMillraceError, MillraceError } from './errors.js';
import { queueNameRule } from './name-rule.js';
import { formatQueueSelection, parseQueueSelection, type QueueSelection } from './queue-selection.js';

/** In what a setting is measured after it was parsed; ms and bytes are part of its resolved name. */
export type SettingUnit = 'ms' | 'bytes' | 'count' | 'days' | 'text' | 'choice' | 'list';

/** One setting, wherever it comes from. */
export interface Setting<T, Unit extends SettingUnit> {
  /** The environment variable. */
  readonly env: string;
  /** The value when nobody says otherwise, after parsing. */
  readonly default: T;
  readonly unit: Unit;
  /** What it does, in one or two sentences for the reference. */
  readonly meaning: string;
  /** What it can be, in words for messages and the reference. */
  readonly expected: string;
  /**
   * The value of what a flag, a variable or a config file says. `isText` tells a flag or variable,
   * where everything is a text, from a value of the config file.
   *
   * @throws MillraceError `option-invalid`, its message without the name of the setting
   */
  parse(raw: unknown, isText: boolean): T;
  /** The value as a person would write it. */
  format(value: T): string;
}

interface Described {
  readonly env: string;
  readonly meaning: string;
}

/** Made by every parser for a value that it can't take. */
function refused(expected: string, got: unknown): MillraceError {
  return new MillraceError('option-invalid', `expected ${expected}, got ${describeValue(got)}`);
}

/**
 * A length of time. Texts are those of `parseDuration`; a flag or variable that is a bare number
 * counts seconds, as operators are used to, while a number in a config file counts milliseconds,
 * as everywhere in the API.
 */
export function durationSetting(
  about: Described & { defaultMs: number; minMs: number; maxMs: number },
): Setting<number, 'ms'> {
  const { env, meaning, defaultMs, minMs, maxMs } = about;
  const expected = `a duration from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  return {
    env,
    meaning,
    default: defaultMs,
    unit: 'ms',
    expected,
    format: formatDuration,
    parse(raw, isText) {
      const isBare = isText && typeof raw === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(raw);
      try {
        return parseDuration(isBare ? `${raw.trim()}s` : raw, { name: env, min: minMs, max: maxMs });
      } catch (error) {
        if (!isMillraceError(error)) throw error;
        throw refused(`${expected} such as '${formatDuration(defaultMs)}'`, raw);
      }
    },
  };
}

/** A whole number. */
export function countSetting<Unit extends 'count' | 'days'>(
  about: Described & { default: number; min: number; max: number; unit: Unit },
): Setting<number, Unit> {
  const { env, meaning, min, max, unit } = about;
  const expected = `a whole number from ${min} to ${max}`;
  return {
    env,
    meaning,
    default: about.default,
    unit,
    expected,
    format: String,
    parse(raw, isText) {
      const value = isText && typeof raw === 'string' && /^\s*\d+\s*$/.test(raw) ? Number(raw) : raw;
      if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
        throw refused(expected, raw);
      }
      return value;
    },
  };
}

/** A number, fractions included, or a word that stands for one that is found out or for none. */
export function numberOrWordSetting<const Word extends string, Default extends number | Word>(
  about: Described & {
    default: Default;
    word: Word;
    min: number;
    max: number;
    /** Whether only whole numbers will do. */
    whole: boolean;
  },
): Setting<number | Word, 'count'> {
  const { env, meaning, word, min, max, whole } = about;
  const expected = `${word}, or a ${whole ? 'whole ' : ''}number from ${min} to ${max}`;
  return {
    env,
    meaning,
    default: about.default,
    unit: 'count',
    expected,
    format: String,
    parse(raw, isText) {
      if (typeof raw === 'string' && raw.trim().toLowerCase() === word) return word;
      const value = isText && typeof raw === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(raw) ? Number(raw) : raw;
      const isNumber =
        typeof value === 'number' && (whole ? Number.isInteger(value) : Number.isFinite(value));
      if (!isNumber || value < min || value > max) throw refused(expected, raw);
      return value;
    },
  };
}

const bytesOfUnit = { B: 1, KB: 1024, MB: 1024 ** 2 } as const;

/** A size: a number of bytes, or a text with KB or MB of 1024. */
export function sizeSetting(
  about: Described & { defaultBytes: number; minBytes: number; maxBytes: number },
): Setting<number, 'bytes'> {
  const { env, meaning, defaultBytes, minBytes, maxBytes } = about;
  const expected = `a size from ${formatSize(minBytes)} to ${formatSize(maxBytes)}`;
  return {
    env,
    meaning,
    default: defaultBytes,
    unit: 'bytes',
    expected,
    format: formatSize,
    parse(raw) {
      const match = typeof raw === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*(B|KB|MB)?\s*$/i.exec(raw) : null;
      const unit = (match?.[2]?.toUpperCase() ?? 'B') as keyof typeof bytesOfUnit;
      const bytes = match === null ? raw : Math.round(Number(match[1]) * bytesOfUnit[unit]);
      if (typeof bytes !== 'number' || !Number.isInteger(bytes) || bytes < minBytes || bytes > maxBytes) {
        throw refused(`${expected}, in bytes or such as '${formatSize(defaultBytes)}'`, raw);
      }
      return bytes;
    },
  };
}

function formatSize(bytes: number): string {
  if (bytes > 0 && bytes % bytesOfUnit.MB === 0) return `${bytes / bytesOfUnit.MB}MB`;
  if (bytes > 0 && bytes % bytesOfUnit.KB === 0) return `${bytes / bytesOfUnit.KB}KB`;
  return `${bytes}B`;
}

/** A text that is not empty. */
export function textSetting(
  about: Described & { default: string; expected: string; fits?: (text: string) => boolean },
): Setting<string, 'text'> {
  return {
    env: about.env,
    meaning: about.meaning,
    default: about.default,
    unit: 'text',
    expected: about.expected,
    format: (value) => value,
    parse(raw) {
      if (typeof raw !== 'string' || raw.trim() === '' || raw.includes('\0')) {
        throw refused(about.expected, raw);
      }
      if (about.fits?.(raw.trim()) === false) throw refused(about.expected, raw);
      return raw.trim();
    },
  };
}

/** One of a few words. */
export function choiceSetting<const Choice extends string>(
  about: Described & { default: Choice; choices: readonly Choice[] },
): Setting<Choice, 'choice'> {
  const expected = `one of ${about.choices.join(', ')}`;
  return {
    env: about.env,
    meaning: about.meaning,
    default: about.default,
    unit: 'choice',
    expected,
    format: (value) => value,
    parse(raw) {
      const wanted = typeof raw === 'string' ? raw.trim().toLowerCase() : raw;
      const choice = about.choices.find((known) => known === wanted);
      if (choice === undefined) throw refused(expected, raw);
      return choice;
    },
  };
}

/** Which queues: the text of `parseQueueSelection`, a list of its parts, or what it has made. */
export function queueSelectionSetting(
  about: Described & { default: QueueSelection },
): Setting<QueueSelection, 'list'> {
  return {
    env: about.env,
    meaning: about.meaning,
    default: about.default,
    unit: 'list',
    expected: `queues as in a,b (strict order), a:6,b:3 (shares) or *,!a (all but), each name ${queueNameRule}`,
    format: formatQueueSelection,
    parse: parseQueueSelection,
  };
}
