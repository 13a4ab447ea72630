import { inspect } from 'node:util';
import type { FailedSequence } from './model-suite.js';
import type { Operation } from './operation.js';

/** Each replay needs a database of its own, which on a server takes a good part of a second. */
const BUDGET_MS = 20_000;

/** Leaves out calls, many at first and then one by one, as long as the rest still differs. */
export async function shrink(
  failed: FailedSequence,
  replay: (operations: readonly Operation[]) => Promise<FailedSequence | null>,
): Promise<FailedSequence> {
  let smallest = failed;
  const end = performance.now() + BUDGET_MS;
  for (
    let size = Math.ceil(smallest.operations.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = smallest.operations.length - size; at >= 0 && performance.now() < end; ) {
      const rest = [...smallest.operations.slice(0, at), ...smallest.operations.slice(at + size)];
      const again = await replay(rest);
      if (again !== null) smallest = again;
      at = Math.min(at - size, smallest.operations.length - size);
    }
  }
  return smallest;
}

export function report({ operations, difference }: FailedSequence): string {
  const show = (value: unknown): string => inspect(value, { depth: 8, breakLength: 160, compact: 6 });
  return [
    ...operations.map((operation, index) => `${index + 1}. ${JSON.stringify(operation, withoutNulls)}`),
    `differs at ${difference.step} in ${difference.what}`,
    `engine: ${show(difference.engine)}`,
    `model:  ${show(difference.model)}`,
  ].join('\n');
}

function withoutNulls(_key: string, value: unknown): unknown {
  return value ?? undefined;
}
