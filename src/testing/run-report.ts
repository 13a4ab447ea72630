import { AssertionError } from 'node:assert';
import type { FailureRecord } from '../internal/failure.js';

export type RunOutcome = 'completed' | 'retrying' | 'snoozed' | 'buried' | 'cancelled';

/** One attempt that was run. */
export interface JobRun {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** From 1. */
  readonly attempt: number;
  readonly outcome: RunOutcome;
  /** What the handler returned, as JSON gives it back; undefined unless completed. */
  readonly result: unknown;
  /** What went wrong; null unless retrying or buried. */
  readonly failure: FailureRecord | null;
  /** Why it was buried or cancelled. */
  readonly reason: string | null;
  /** When it runs again; null unless retrying or snoozed. */
  readonly dueAt: Date | null;
}

const mostShown = 5;

/** What a run of everything that was due has done. */
export class RunReport {
  /** In the order in which they ended. */
  readonly runs: readonly JobRun[];
  /** How many attempts ended so. */
  readonly completed: number;
  readonly retrying: number;
  readonly snoozed: number;
  readonly buried: number;
  readonly cancelled: number;
  /** When the next job of those that can run here falls due; null when none waits for its time. */
  readonly nextDueAt: Date | null;
  /** Names of jobs that are due and whose code this kit was not given. */
  readonly unhandled: readonly string[];

  constructor(parts: Pick<RunReport, 'runs' | 'nextDueAt' | 'unhandled'>) {
    const count = (outcome: RunOutcome): number => parts.runs.filter((run) => run.outcome === outcome).length;
    this.runs = parts.runs;
    this.nextDueAt = parts.nextDueAt;
    this.unhandled = parts.unhandled;
    this.completed = count('completed');
    this.retrying = count('retrying');
    this.snoozed = count('snoozed');
    this.buried = count('buried');
    this.cancelled = count('cancelled');
  }

  /**
   * Throws when an attempt failed, with what it failed with: for tests that expect everything to go well, whose own
   * assertions would only tell that something is missing.
   *
   * @throws AssertionError
   */
  expectNoFailures(): void {
    const failed = this.runs.filter(({ failure }) => failure !== null);
    if (failed.length === 0) return;
    const lines = failed.slice(0, mostShown).map(lineOf);
    const rest = failed.length > mostShown ? `\n  and ${failed.length - mostShown} more` : '';
    throw new AssertionError({
      message: `expected no attempt to fail, but ${failed.length} of ${this.runs.length} did:\n${lines.join('\n')}${rest}`,
      actual: failed.map(({ name, failure }) => `${name}: ${failure?.name}: ${failure?.message}`),
      expected: [],
      operator: 'expectNoFailures',
      stackStartFn: this.expectNoFailures,
    });
  }
}

function lineOf({ id, name, attempt, outcome, failure }: JobRun): string {
  const head = `  ${name} ${id}, attempt ${attempt}, ${outcome}: `;
  const text = failure?.stack ?? `${failure?.name}: ${failure?.message}`;
  return head + text.replaceAll('\n', '\n    ');
}
