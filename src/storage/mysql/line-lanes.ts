import type { Changes } from './changes.js';
import { ordinaryLine } from './codes.js';
import type { Lane } from './lanes.js';
import { holdLanes, pinLane, sortedLanes } from './queries/lines.js';
import { type Sql, sql } from './sql.js';

/**
 * What has to be sent before jobs come to stand in these lanes, so that claims find them: the lanes of lines go when
 * nothing stands in them. In a transaction of the user's they are made beside it, and only kept there.
 */
export async function holdLanesOf({ context, tx }: Changes, lanes: readonly Lane[]): Promise<Sql[]> {
  const own = sortedLanes(lanes.filter(({ line }) => line > ordinaryLine));
  if (own.length === 0) return [];
  context.survey.noteWork(own);
  if (tx.foreign === undefined) return [holdLanes(context.t, own, sql`@now`)];
  await context.lines.makeLanes(own);
  return own.map((lane) => pinLane(context.t, lane));
}
