/**
 * May a job that was taken start here and now? Its handler's recent attempts say what it will need: time, where the time
 * of this process is bounded, and memory, where that could be measured. A decision is an object with its numbers; what
 * says no also says when to ask again.
 *
 * Limits and budgets are storage's, decided at the claim. This here is about the machine and the process.
 */
import { spell } from './spell-duration.js';

/** What the attempts of a handler took of late. */
export interface RecentProfile {
  readonly averageMs: number;
  /** Of the hungriest attempt; null where it can't be told apart from the worker's own. */
  readonly peakRssBytes: number | null;
}

export interface AdmissionFacts {
  /** Null: nothing is known of its handler. */
  readonly profile: RecentProfile | null;
  /** The job runs in the worker's own process, and grows that. */
  readonly isInline: boolean;
  /** How long this process may still run; null: for ever. */
  readonly timeLeftMs: number | null;
  /** What can still be had on this machine, or in this container; null: it can't be told. */
  readonly availableBytes: number | null;
  /** Promised to jobs that started a moment ago and have not taken it yet. */
  readonly promisedBytes: number;
  /** What this process uses. */
  readonly ownBytes: number;
  /** What it may use; null: no bound. */
  readonly ownMaxBytes: number | null;
  /** Nothing runs here. */
  readonly isIdle: boolean;
  /** Another live worker uses the same memory, and may be the one that needs it. */
  readonly hasNeighbours: boolean;
}

export interface AdmissionRules {
  readonly memoryHeadroomBytes: number;
  readonly systemMemoryHeadroomBytes: number;
  readonly timeHeadroomMs: number;
}

export type DenialReason = 'time' | 'own-memory' | 'system-memory';

export interface Denial {
  readonly admit: false;
  readonly reason: DenialReason;
  /** For people. */
  readonly sentence: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** How soon asking again makes sense; 0: whenever another process has the time. */
  readonly retryInMs: number;
}

export type AdmissionDecision = { readonly admit: true; readonly despite: Denial | null } | Denial;

/** Memory comes free by jobs that end, here or in other processes; seconds, as a rule. */
const memoryRetryMs = 5_000;

/**
 * Of what a worker may use, the share at which it makes room for a fresh process (`MILLRACE_WORKER_MAX_MEMORY`). The repair
 * begins below the gate: a worker that grows is renewed before it refuses work.
 */
export const recycleMemoryShare = 0.75;

/**
 * What a worker may use: above it its inline jobs are not admitted. `recycleAtBytes`: where it makes room for a fresh
 * process; 0: never, by the will of whoever set it, so that nothing is refused either.
 */
export function ownMemoryBound(recycleAtBytes: number, headroomBytes: number): number {
  if (recycleAtBytes === 0) return Number.POSITIVE_INFINITY;
  return Math.max(recycleAtBytes / recycleMemoryShare, recycleAtBytes + 2 * headroomBytes);
}

const admitted: AdmissionDecision = Object.freeze({ admit: true, despite: null });

export function decideAdmission(facts: AdmissionFacts, rules: AdmissionRules): AdmissionDecision {
  const time = timeDenial(facts, rules);
  if (time !== null) return time;
  const memory = ownMemoryDenial(facts, rules) ?? systemMemoryDenial(facts, rules);
  if (memory === null) return admitted;
  // Else a job that needs more than there ever is would wait for ever, and a worker that leaks would do nothing.
  return facts.isIdle && !facts.hasNeighbours ? { admit: true, despite: memory } : memory;
}

function timeDenial({ profile, timeLeftMs }: AdmissionFacts, rules: AdmissionRules): Denial | null {
  if (timeLeftMs === null) return null;
  const averageMs = profile?.averageMs ?? 0;
  const headroomMs = rules.timeHeadroomMs;
  if (averageMs + headroomMs <= timeLeftMs) return null;
  const left = spell(Math.max(timeLeftMs, 0));
  return {
    admit: false,
    reason: 'time',
    sentence: `it takes about ${spell(averageMs)}, to which ${spell(headroomMs)} are added to be safe, and ${left} were left of the time of this run`,
    numbers: {
      averageMs: Math.round(averageMs),
      headroomMs,
      timeLeftMs: Math.max(Math.round(timeLeftMs), 0),
    },
    retryInMs: 0,
  };
}

function ownMemoryDenial(facts: AdmissionFacts, { memoryHeadroomBytes }: AdmissionRules): Denial | null {
  const { isInline, ownBytes, ownMaxBytes } = facts;
  if (!isInline || ownMaxBytes === null || ownBytes + memoryHeadroomBytes <= ownMaxBytes) return null;
  return {
    admit: false,
    reason: 'own-memory',
    sentence: `the worker uses ${megabytes(ownBytes)} of the ${megabytes(ownMaxBytes)} it may use, and ${megabytes(memoryHeadroomBytes)} are to stay free`,
    numbers: { ownBytes, ownMaxBytes, headroomBytes: memoryHeadroomBytes },
    retryInMs: memoryRetryMs,
  };
}

function systemMemoryDenial(facts: AdmissionFacts, rules: AdmissionRules): Denial | null {
  const { isInline, profile, availableBytes, promisedBytes } = facts;
  if (availableBytes === null) return null;
  const headroomBytes = rules.systemMemoryHeadroomBytes;
  const neededBytes = isInline ? 0 : (profile?.peakRssBytes ?? 0);
  const freeBytes = Math.max(availableBytes - promisedBytes, 0);
  if (neededBytes + headroomBytes <= freeBytes) return null;
  const need = neededBytes === 0 ? '' : `it needs about ${megabytes(neededBytes)}, `;
  return {
    admit: false,
    reason: 'system-memory',
    sentence: `${need}${megabytes(freeBytes)} of memory were free on the machine of the worker, and ${megabytes(headroomBytes)} are to stay free`,
    numbers: { neededBytes, freeBytes, headroomBytes },
    retryInMs: memoryRetryMs,
  };
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MB`;
