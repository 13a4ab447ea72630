import { findCycle } from '../core/dependency-order.js';
import { MillraceError } from '../internal/errors.js';
import type { NewJob } from '../storage/new-job.js';

/**
 * The positions of the jobs in an order in which each stands after those of the same call that it waits for; else as
 * given. Null when they can stay as they are. A text stands for a job that waits for none and has no id yet.
 *
 * @throws MillraceError `dependency-cycle` with the names on the way round
 */
export function dependencyOrder(jobs: readonly (NewJob | string)[]): readonly number[] | null {
  if (jobs.every((job) => afterOf(job).length === 0)) return null;
  const positions = new Map<string, number>();
  for (const [index, job] of jobs.entries()) if (typeof job !== 'string') positions.set(job.id, index);
  const parentsOf = jobs.map((job) =>
    afterOf(job)
      .map((id) => positions.get(id))
      .filter((position) => position !== undefined),
  );
  if (parentsOf.every((parents, index) => parents.every((parent) => parent < index))) return null;
  const order = sorted(parentsOf);
  if (order.length < jobs.length) throw cycleError(jobs.filter((job) => typeof job !== 'string'));
  return order;
}

function afterOf(job: NewJob | string): readonly string[] {
  return typeof job === 'string' || job.after === null ? [] : job.after.ids;
}

/** Kahn's algorithm; among those that are free the earlier ones first, wave by wave. */
function sorted(parentsOf: readonly (readonly number[])[]): number[] {
  const childrenOf = new Map<number, number[]>();
  const openParents = parentsOf.map((parents) => parents.length);
  for (const [child, parents] of parentsOf.entries()) {
    for (const parent of parents) {
      const children = childrenOf.get(parent);
      if (children === undefined) childrenOf.set(parent, [child]);
      else children.push(child);
    }
  }
  const order = [...openParents.keys()].filter((index) => openParents[index] === 0);
  for (let next = 0; next < order.length; next += 1) {
    for (const child of childrenOf.get(order[next] as number) ?? []) {
      openParents[child] = (openParents[child] as number) - 1;
      if (openParents[child] === 0) order.push(child);
    }
  }
  return order;
}

function cycleError(jobs: readonly NewJob[]): MillraceError {
  const names = new Map(jobs.map(({ id, name }) => [id, name] as const));
  const edges = jobs.flatMap(({ id, after }) =>
    (after?.ids ?? []).filter((parent) => names.has(parent)).map((parent) => ({ child: id, parent })),
  );
  const cycle = findCycle(edges) ?? [];
  const path = cycle.map((id) => `${names.get(id)} (${id})`).join(' → ');
  return new MillraceError(
    'dependency-cycle',
    `these jobs wait for each other, so none of them could start: ${path}. Remove one of the dependencies`,
    { details: { path: cycle } },
  );
}
