/*
 * How live jobs end, and what follows for those that wait for them, inside a transaction that has locked them.
 *
 * Lock order: the jobs that end, in ascending id; then their dependents, in ascending id; then theirs, level by level;
 * keys last, with the row they belong to. Dependents are locked before it is asked whether they still wait: of two
 * parents that end at once, the second then sees what the first has done.
 */
import { plainArray, textArray, uuidArray } from './arrays.js';
import { care, policyCode, statusCode } from './codes.js';
import type { LineQueries } from './queries/lines.js';
import type { EndingQueries, SettleQueries } from './queries/settle.js';
import { type Executor, intOf, textOf } from './statement.js';

export interface Ending {
  readonly id: string;
  /** `deleted`: the row is removed. */
  readonly status: 'completed' | 'buried' | 'cancelled' | 'deleted';
  readonly reason: string | null;
  /** The lease that runs now ended it. */
  readonly byLease: boolean;
  readonly isFollowed: boolean;
  readonly charge?: number;
  readonly deaths?: number;
  readonly lapses?: number;
  /** The whole new text; undefined keeps what there is. */
  readonly errors?: string | undefined;
  readonly result?: string | null;
  readonly outcome?: 'skipped' | undefined;
}

export interface EndingTools {
  readonly tx: Executor;
  readonly settle: SettleQueries;
  readonly endings: EndingQueries;
  readonly lines: LineQueries;
  readonly offsetMs: () => number;
  /** Collects the queues in which jobs became claimable. */
  readonly awakened: Set<string>;
}

/** Ends locked live jobs, and what follows, level by level: a chain may be longer than the stack. */
export async function endJobs(tools: EndingTools, endings: readonly Ending[]): Promise<void> {
  let level = endings;
  while (level.length > 0) {
    const followed = level.filter((ending) => ending.isFollowed);
    await write(tools, level);
    const next = followed.length === 0 ? [] : await tellDependents(tools, followed);
    await remove(tools, level);
    level = next;
  }
}

async function write(
  { tx, endings: queries, offsetMs }: EndingTools,
  endings: readonly Ending[],
): Promise<void> {
  const kept = endings.filter((ending) => ending.status !== 'deleted');
  if (kept.length === 0) return;
  await tx.run(queries.end, [
    uuidArray(kept.map((e) => e.id)),
    plainArray(kept.map((e) => (e.status === 'deleted' ? 0 : statusCode[e.status]))),
    textArray(kept.map((e) => e.reason)),
    plainArray(kept.map((e) => e.byLease)),
    plainArray(kept.map((e) => e.charge ?? 0)),
    plainArray(kept.map((e) => e.deaths ?? 0)),
    plainArray(kept.map((e) => e.lapses ?? 0)),
    textArray(kept.map((e) => e.errors ?? null)),
    textArray(kept.map((e) => e.result ?? null)),
    textArray(kept.map((e) => e.outcome ?? null)),
    offsetMs(),
  ]);
}

async function remove({ tx, endings: queries }: EndingTools, endings: readonly Ending[]): Promise<void> {
  const gone = endings.filter((ending) => ending.status === 'deleted');
  if (gone.length > 0) await tx.run(queries.remove, [uuidArray(gone.map((e) => e.id))]);
}

/** Those that end in their turn, because a job they waited for has failed. */
async function tellDependents(tools: EndingTools, ended: readonly Ending[]): Promise<Ending[]> {
  const { tx, endings: queries } = tools;
  const completed = new Set(ended.filter((e) => e.status === 'completed').map((e) => e.id));
  const edges = await tx.run(queries.meet, [uuidArray(ended.map((e) => e.id))]);
  const failed = new Map<string, boolean>();
  for (const [child, parent] of edges) {
    failed.set(textOf(child), failed.get(textOf(child)) === true || !completed.has(textOf(parent)));
  }
  return followParents(tools, failed);
}

/**
 * What becomes of dependents whose edges were met: by id, whether a parent has failed. Returns those that end.
 * The others are released when they wait for nothing more.
 */
export async function followParents(
  tools: EndingTools,
  dependents: ReadonlyMap<string, boolean>,
): Promise<Ending[]> {
  const { tx, settle, endings: queries, awakened } = tools;
  if (dependents.size === 0) return [];
  const ending: Ending[] = [];
  const waiting: string[] = [];
  for (const [id, status, , careBits, , , policy] of await tx.run(settle.lockJobs, [
    uuidArray([...dependents.keys()]),
  ])) {
    if (intOf(status) !== statusCode.blocked) continue;
    if (dependents.get(textOf(id)) === true && intOf(policy) !== policyCode.run) {
      ending.push({
        id: textOf(id),
        status: intOf(policy) === policyCode.bury ? 'buried' : 'cancelled',
        reason: 'parent-failed',
        byLease: false,
        isFollowed: (intOf(careBits) & care.followed) !== 0,
      });
    } else waiting.push(textOf(id));
  }
  if (waiting.length > 0) {
    for (const [, queue] of await tx.run(queries.release, [uuidArray(waiting)])) awakened.add(textOf(queue));
  }
  return ending;
}
