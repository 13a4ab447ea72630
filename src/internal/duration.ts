import { expectedGot, MillraceError } from './errors.js';

/**
 * A length of time: a number of milliseconds, or a text of numbers with units
 * (`ms`, `s`, `m`, `h`, `d`, `w`) such as `'250ms'`, `'30s'`, `'1.5h'` or `'1h30m'`.
 */
export type Duration = number | string;

const unitMs = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
const wholePattern = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+$/;
const partPattern = /(\d+(?:\.\d+)?)(ms|s|m|h|d|w)/g;
const longestText = 100;

/** 100 years: now plus any accepted duration stays far inside what a date can hold. */
export const longestDurationMs = 36_500 * unitMs.d;

export interface ParseDurationOptions {
  /** What is being parsed, for the message: `option "timeout"`. */
  readonly name: string;
  /** The least value accepted, in ms. @default 0 */
  readonly min?: number | undefined;
  /** The greatest value accepted, in ms. @default 100 years */
  readonly max?: number | undefined;
}

/**
 * The whole milliseconds of a duration (fractions are rounded).
 *
 * @throws MillraceError `option-invalid` for anything that is not a duration, or is out of range
 */
export function parseDuration(value: unknown, options: ParseDurationOptions): number {
  const { name, min = 0, max = longestDurationMs } = options;
  const ms = typeof value === 'number' ? value : typeof value === 'string' ? textToMs(value) : NaN;
  if (!Number.isFinite(ms)) {
    const fix =
      typeof value === 'string' && /^\s*\d+\s*$/.test(value)
        ? `A text needs a unit: '${value.trim()}s', or the number of milliseconds.`
        : undefined;
    throw invalid(name, "a number of milliseconds or a text such as '30s', '5m', '1h30m'", value, fix);
  }
  const rounded = Math.round(ms);
  if (rounded < min) throw invalid(name, `at least ${formatDuration(min)}`, value, undefined);
  if (rounded > max) throw invalid(name, `at most ${formatDuration(max)}`, value, undefined);
  return rounded;
}

function textToMs(text: string): number {
  const trimmed = text.trim();
  if (trimmed.length > longestText || !wholePattern.test(trimmed)) return NaN;
  let ms = 0;
  for (const [, amount, unit] of trimmed.matchAll(partPattern)) {
    ms += Number(amount) * unitMs[unit as keyof typeof unitMs];
  }
  return ms;
}

function invalid(name: string, expected: string, got: unknown, fix: string | undefined): MillraceError {
  return new MillraceError('option-invalid', expectedGot({ what: name, expected, got, fix }), {
    details: { name, got },
  });
}

/**
 * The shortest exact text of a duration, which `parseDuration` reads back to the same number:
 * `0ms`, `250ms`, `1m30s`, `7d`. Weeks are written as days. Fractions of a millisecond are rounded.
 */
export function formatDuration(ms: number): string {
  let rest = Math.round(Math.abs(ms));
  if (!Number.isFinite(rest)) return String(ms);
  if (rest === 0) return '0ms';
  let text = ms < 0 ? '-' : '';
  for (const unit of ['d', 'h', 'm', 's', 'ms'] as const) {
    const amount = Math.floor(rest / unitMs[unit]);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * unitMs[unit];
  }
  return text;
}
