/** `child` waits for `parent`. */
export interface DependencyEdge {
  readonly child: string;
  readonly parent: string;
}

/**
 * A circle of jobs that wait for each other: each waits for the next, and the last one is the
 * first again (`['a', 'b', 'a']`). Null when there is none. Walks without recursion, in the order
 * of the edges, so that the answer for the same edges is always the same.
 */
export function findCycle(edges: Iterable<DependencyEdge>): string[] | null {
  const parentsOf = new Map<string, string[]>();
  for (const { child, parent } of edges) {
    const parents = parentsOf.get(child);
    if (parents === undefined) parentsOf.set(child, [parent]);
    else parents.push(parent);
  }
  const done = new Set<string>();
  for (const start of parentsOf.keys()) {
    const cycle = cycleFrom(start, parentsOf, done);
    if (cycle !== null) return cycle;
  }
  return null;
}

function cycleFrom(
  start: string,
  parentsOf: ReadonlyMap<string, readonly string[]>,
  done: Set<string>,
): string[] | null {
  if (done.has(start)) return null;
  const path = [{ node: start, next: 0 }];
  const onPath = new Set([start]);
  for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
    const parent = parentsOf.get(top.node)?.[top.next];
    top.next += 1;
    if (parent === undefined) {
      path.pop();
      onPath.delete(top.node);
      done.add(top.node);
    } else if (onPath.has(parent)) {
      const nodes = path.map(({ node }) => node);
      return [...nodes.slice(nodes.indexOf(parent)), parent];
    } else if (!done.has(parent)) {
      path.push({ node: parent, next: 0 });
      onPath.add(parent);
    }
  }
  return null;
}
