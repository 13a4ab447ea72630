import { AssertionError } from 'node:assert';
import { inspect } from 'node:util';
import type { RecordedDispatch } from './kit-storage.js';
import { type Difference, differences, type Partly, withPart } from './partial-match.js';

/** Which dispatches of a job are meant: those whose input has this in it, or of which a function says so. */
export type DispatchFilter<Input> = Partly<Input> | ((dispatch: RecordedDispatch<Input>) => boolean);

/** Of so many dispatches a message shows the nearest. */
const mostShown = 5;
const mostDifferences = 5;

export function matching(
  dispatches: readonly RecordedDispatch[],
  where: DispatchFilter<unknown> | undefined,
): RecordedDispatch[] {
  if (where === undefined) return [...dispatches];
  if (typeof where === 'function') return dispatches.filter((dispatch) => where(dispatch));
  return dispatches.filter(({ input }) => differences(input, where).length === 0);
}

/** What an expectation was held against. */
export interface Evidence {
  /** Of the job. */
  readonly ofJob: readonly RecordedDispatch[];
  readonly all: readonly RecordedDispatch[];
  readonly where: DispatchFilter<unknown> | undefined;
  /** Where the stack of the error is to begin. */
  readonly caller: (...args: never) => unknown;
}

export function missingDispatch(name: string, { ofJob, all, where, caller }: Evidence): AssertionError {
  const base = { operator: 'expectDispatched', stackStartFn: caller };
  if (ofJob.length === 0) {
    const message = `expected a dispatch of job "${name}", but there was none. ${summaryOf(all)}`;
    return new AssertionError({
      ...base,
      message,
      actual: all.map((dispatch) => dispatch.name),
      expected: [name],
    });
  }
  if (typeof where === 'function') {
    const lines = ofJob.slice(-mostShown).map(({ id, input }) => `  ${id}: ${shown(input)}`);
    const message = `expected a dispatch of job "${name}" that the function accepts, but it accepts none of ${ofJob.length}:`;
    return new AssertionError({ ...base, message: `${message}\n${lines.join('\n')}` });
  }
  const byNearness = ofJob
    .map((dispatch) => ({ dispatch, differs: differences(dispatch.input, where) }))
    .sort((a, b) => a.differs.length - b.differs.length);
  const lines = byNearness.slice(0, mostShown).flatMap(({ dispatch, differs }) => linesOf(dispatch, differs));
  const rest = ofJob.length > mostShown ? `\n  and ${ofJob.length - mostShown} more` : '';
  const nearest = byNearness[0]?.dispatch.input;
  return new AssertionError({
    ...base,
    message: `expected a dispatch of job "${name}" with ${shown(where)} in its input; of ${ofJob.length} none has it:\n${lines.join('\n')}${rest}`,
    actual: nearest,
    expected: withPart(nearest, where),
  });
}

export function unwantedDispatch(
  name: string,
  found: readonly RecordedDispatch[],
  caller: Evidence['caller'],
): AssertionError {
  const lines = found.slice(0, mostShown).map(({ id, input }) => `  ${id}: ${shown(input)}`);
  const rest = found.length > mostShown ? `\n  and ${found.length - mostShown} more` : '';
  return new AssertionError({
    message: `expected no such dispatch of job "${name}", but there were ${found.length}:\n${lines.join('\n')}${rest}`,
    actual: found.map(({ input }) => input),
    expected: [],
    operator: 'expectNotDispatched',
    stackStartFn: caller,
  });
}

function linesOf({ id, input }: RecordedDispatch, differs: readonly Difference[]): string[] {
  const details = differs.slice(0, mostDifferences).map(({ path, expected, got }) => {
    return `    input${path === '' || path.startsWith('[') ? path : `.${path}`}: expected ${shown(expected)}, got ${shown(got)}`;
  });
  const rest = differs.length > mostDifferences ? [`    and ${differs.length - mostDifferences} more`] : [];
  return [`  ${id}: ${shown(input)}`, ...details, ...rest];
}

function summaryOf(all: readonly RecordedDispatch[]): string {
  if (all.length === 0) return 'Nothing was dispatched at all; is every dispatch awaited?';
  const counts = new Map<string, number>();
  for (const { name } of all) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count})`));
  return `Dispatched were: ${parts.join(', ')}`;
}

function shown(value: unknown): string {
  return inspect(value, {
    depth: 6,
    breakLength: Number.POSITIVE_INFINITY,
    maxStringLength: 200,
    maxArrayLength: 20,
  });
}
