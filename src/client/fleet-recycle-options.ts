import { describeValue } from '../internal/describe-value.js';
import { type Duration, parseDuration } from '../internal/duration.js';
import { type OperatorOptions, resolveOperator } from './fleet-control.js';
import type { FleetRecycleReport } from './fleet-recycle.js';
import { OptionProblems } from './option-problems.js';

export interface RecycleFleetOptions extends OperatorOptions {
  /**
   * How many workers may be away at once: a share of those that live, rounded down, or a count; at least one. Workers of
   * one queue list take turns too: of these at most a quarter, whatever stands here. @default '25%'
   */
  readonly maxUnavailable?: string | number | undefined;
  /** From the end of a worker to the RUNNING of the one in its place. @default '60s' */
  readonly returnWithin?: Duration | undefined;
  /** From being asked to its end: its turn, and the jobs that it finishes. @default '1h' */
  readonly drainWithin?: Duration | undefined;
  /** Called with each change. */
  readonly onProgress?: ((report: FleetRecycleReport) => void) | undefined;
  /** Asks nobody else once it is aborted; who was asked goes on. */
  readonly signal?: AbortSignal | undefined;
}

export interface ResolvedRecycleFleet {
  readonly unavailable: { readonly share: number } | number;
  readonly returnWithinMs: number;
  readonly drainWithinMs: number;
  readonly operator: { readonly actor: string; readonly source: string };
  readonly onProgress: ((report: FleetRecycleReport) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

const defaultShare = 0.25;
const defaultReturnMs = 60_000;
const defaultDrainMs = 3_600_000;
const shortestMs = 1_000;
const mostWorkers = 100_000;
const known = ['maxUnavailable', 'returnWithin', 'drainWithin', 'onProgress', 'signal', 'actor', 'source'];

/** @throws MillraceError `option-invalid`, `option-unknown` with everything that is wrong */
export function resolveRecycleFleet(options: unknown): ResolvedRecycleFleet {
  const problems = new OptionProblems('options of a fleet’s recycle');
  const given = problems.takeObject(options);
  problems.checkKeys(given, known);
  const durationOf = (name: string, fallbackMs: number): number => {
    const value = given[name];
    if (value === undefined) return fallbackMs;
    return problems.attempt(
      () => parseDuration(value, { name: `option "${name}"`, min: shortestMs }),
      fallbackMs,
    );
  };
  const { maxUnavailable, onProgress, signal, actor, source } = given;
  const unavailable =
    maxUnavailable === undefined ? { share: defaultShare } : parseUnavailable(maxUnavailable);
  if (unavailable === null) problems.add(`option "maxUnavailable": ${unavailableText(maxUnavailable)}`);
  if (onProgress !== undefined && typeof onProgress !== 'function')
    problems.add(`option "onProgress": expected a function, got ${describeValue(onProgress)}`);
  if (signal !== undefined && !(signal instanceof AbortSignal))
    problems.add(`option "signal": expected an AbortSignal, got ${describeValue(signal)}`);
  const returnWithinMs = durationOf('returnWithin', defaultReturnMs);
  const drainWithinMs = durationOf('drainWithin', defaultDrainMs);
  problems.throwIfAny();
  return {
    unavailable: unavailable ?? { share: defaultShare },
    returnWithinMs,
    drainWithinMs,
    operator: resolveOperator({ actor, source }),
    onProgress: onProgress as ResolvedRecycleFleet['onProgress'],
    signal: signal as AbortSignal | undefined,
  };
}

/** `25%` or `3`; null for what is neither. */
export function parseUnavailable(value: unknown): { readonly share: number } | number | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const [, digits = '', sign] = /^(\d{1,6}(?:\.\d{1,3})?)(%?)$/.exec(text.trim()) ?? [];
  const number = digits === '' ? Number.NaN : Number(digits);
  if (sign === '%') return number > 0 && number <= 100 ? { share: number / 100 } : null;
  return Number.isInteger(number) && number >= 1 && number <= mostWorkers ? number : null;
}

/** What was expected, and what came. */
export function unavailableText(value: unknown): string {
  return `expected a share such as 25%, up to 100%, or a number of workers from 1, got ${describeValue(value)}`;
}
