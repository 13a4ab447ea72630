import { aloneLine } from './codes.js';
import type { Context } from './context.js';
import { lanesOfJobs } from './queries/leases.js';

/** Before a transaction in which these jobs come to run alone: it has the main connection for itself. */
export async function ensureAloneLanes(context: Context, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const [result] = await context.side.send('reading lanes of jobs', lanesOfJobs(context.t, ids));
  const rows = (result?.rows ?? []) as [number, number, number][];
  await context.lanes.ensure(
    rows.map(([queueId, rnk, nameId]) => ({ queueId, line: aloneLine, rnk, nameId })),
  );
}
