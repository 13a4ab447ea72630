export type TestState = 'passed' | 'failed' | 'skipped';

export interface TestOutcome {
  /** File and full name together; `[postgres]` anywhere in it marks a test of PostgreSQL. */
  name: string;
  state: TestState;
}

/** `label` names the product with its version; `absence` says why it did not run. */
export interface EngineLabel {
  tag: string;
  label: string;
  absence?: string;
}

export interface RunOutcome {
  tests: readonly TestOutcome[];
  /** Failures outside of any test: a file that does not load, an unhandled rejection, the run itself. */
  otherFailures: number;
  engines: readonly EngineLabel[];
}

type Tally = Record<TestState, number>;

/** The lines at the end of a run: one per engine, and last the total alone. */
export function summarize({ tests, otherFailures, engines }: RunOutcome): string[] {
  const width = Math.max(0, ...engines.map(({ label }) => label.length));
  const perEngine = engines.map(({ tag, label, absence }) => {
    const { passed, failed, skipped } = tally(tests.filter(({ name }) => name.includes(`[${tag}]`)));
    if (absence) return `  ${label}: not run (${absence})`;
    if (passed + failed === 0) return `  ${label}: not run (no test tagged [${tag}] in this run)`;
    return `  ${label.padEnd(width)}  ${total({ passed, failed, skipped })}`;
  });
  const all = tally(tests);
  const other = otherFailures === 0 ? [] : [`  Failures outside of tests: ${otherFailures}`];
  return ['Engines', ...perEngine, ...other, '', total({ ...all, failed: all.failed + otherFailures })];
}

function tally(tests: readonly TestOutcome[]): Tally {
  const counts: Tally = { passed: 0, failed: 0, skipped: 0 };
  for (const { state } of tests) counts[state] += 1;
  return counts;
}

function total({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
