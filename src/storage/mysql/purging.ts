import { bytesToUuid } from '../../internal/uuid.js';
import { statusCodes } from '../sql/status-codes.js';
import { Changes } from './changes.js';
import type { Context } from './context.js';
import type { Result } from './driver.js';
import { hasHubs } from './hubs.js';
import { deleteSilentHubs } from './queries/hubs.js';
import { forgetJobs } from './queries/places.js';
import {
  lockPurgeable,
  neededParents,
  type PurgeBatch,
  purgeableStatement,
  removeFinals,
  traceStatements,
} from './queries/purge.js';
import { hexId } from './sql.js';
import { purgeLines } from './sweeping-lines.js';

/** Rows that go in one transaction. */
const batchRows = 500;

export async function purge(
  context: Context,
  request: {
    statuses: readonly ('completed' | 'buried' | 'cancelled')[];
    olderThanMs: number;
    limit: number;
  },
): Promise<number> {
  let purged = 0;
  for (const status of new Set(request.statuses)) {
    for (const isRetained of [false, true]) {
      for (;;) {
        const count = Math.min(request.limit - purged, batchRows);
        if (count <= 0) return purged;
        const olderThanMs = isRetained ? 0 : request.olderThanMs;
        const gone = await purgeBatch(context, {
          status: statusCodes[status],
          isRetained,
          olderThanMs,
          count,
        });
        purged += gone;
        if (gone < count) break;
      }
    }
  }
  return purged;
}

async function purgeBatch(context: Context, batch: PurgeBatch): Promise<number> {
  const { t, side, main } = context;
  const now = context.now();
  const [found] = await side.send('looking for jobs to purge', purgeableStatement(t, batch, now));
  const ids = idsOf(found).map(hexId);
  if (ids.length === 0) return 0;
  return main.transaction('purge', async (tx) => {
    await Changes.begin(context, tx);
    // In between an operator may have brought some back, and others may have come to wait for some: who does so locks
    // these rows first, so that what is read behind the lock holds.
    const [locked, needed] = await tx.send(lockPurgeable(t, ids, batch, now), neededParents(t, ids));
    const kept = new Set(idsOf(needed));
    const gone = idsOf(locked).filter((id) => !kept.has(id));
    if (gone.length > 0) await tx.send(removeFinals(t, gone.map(hexId)), ...forgetJobs(t, gone, true));
    return gone.length;
  });
}

const idsOf = (result: Result | undefined): string[] =>
  (result?.rows ?? []).map(([id]) => bytesToUuid(id as Buffer));

/** Log lines, unique periods and workers, up to `limit` of each. */
export async function purgeTraces(
  context: Context,
  request: { olderThanMs: number; limit: number },
): Promise<number> {
  let purged = 0;
  const now = context.now();
  const ofHubs = hasHubs(context) ? [deleteSilentHubs(context.t, request.limit, now)] : [];
  for (const statement of [...traceStatements(context.t, request, now), ...ofHubs]) {
    const [result] = await context.side.send('purging traces', statement);
    purged += result?.changed ?? 0;
  }
  await purgeLines(context, request.limit);
  return purged;
}
