import type { Context } from './context.js';
import { register } from './line-registry.js';
import type { LineQueries } from './queries/lines.js';
import { type Executor, intOf, textOf } from './statement.js';

/** A claim passes over lines that have no row: gives their jobs one. Returns the queues in which jobs can be claimed again. */
export async function mendLines(
  executor: Executor,
  queries: LineQueries,
  { logger, offsetMs }: Context,
): Promise<ReadonlySet<string>> {
  const queues = new Set<string>();
  for (const [old, terms] of await executor.run(queries.orphaned)) {
    if (terms === null || terms === undefined) continue;
    const [line] = await register(executor, queries, [terms], offsetMs());
    if (line === undefined) continue;
    const moved = await executor.run(queries.move, [intOf(old), line.id, line.gate, line.groupId]);
    for (const [queue] of moved) queues.add(textOf(queue));
    logger.warn('postgres: gave jobs the line back that they had lost', { jobs: moved.length, terms });
  }
  return queues;
}
