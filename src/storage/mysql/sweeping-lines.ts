/*
 * What is left of lines when their jobs are gone. A lane goes when nothing stands in it, so that a claim looks at those
 * that have work; a line when it has no job at all, whatever its status, and nobody named it for a day; a gate with the
 * last line that names it. Whoever writes a job holds its line and lane until the commit; what is held here is passed
 * over, and what is removed was looked at again behind the lock. So no job is ever written into what is gone.
 */
import type { Context } from './context.js';
import type { Lane } from './lanes.js';
import {
  deleteGates,
  deleteLanes,
  deleteLines,
  idleLanes,
  lockLanes,
  lockUnnamedGates,
  readyIn,
  unusedLines,
  usedLines,
} from './queries/lines.js';

const pageLanes = 1_000;
const mostPages = 20;
/** Lanes that are removed in one transaction. */
const removedAtOnce = 200;

type LaneRow = readonly [queueId: number, line: number, rnk: number, nameId: number, hasReady: number | null];

const laneOf = ([queueId, line, rnk, nameId]: LaneRow): Lane => ({ queueId, line, rnk, nameId });

const cursors = new WeakMap<Context, Lane | null>();

/** Looks at some of the lanes; goes on where the last call stopped. */
export async function sweepLanes(context: Context): Promise<void> {
  const { t, side } = context;
  let after = cursors.get(context) ?? null;
  for (let page = 0; page < mostPages; page += 1) {
    const [result] = await side.send('looking for idle lanes', idleLanes(t, after, pageLanes, context.now()));
    const rows = (result?.rows ?? []) as unknown as LaneRow[];
    const idle = rows.filter((row) => row[4] === null).map(laneOf);
    for (let at = 0; at < idle.length; at += removedAtOnce) {
      await removeLanes(context, idle.slice(at, at + removedAtOnce));
    }
    const last = rows.at(-1);
    after = rows.length < pageLanes || last === undefined ? null : laneOf(last);
    if (after === null) break;
  }
  cursors.set(context, after);
}

async function removeLanes({ t, side }: Context, lanes: readonly Lane[]): Promise<void> {
  await side.transaction('removing lanes', async (tx) => {
    const [locked] = await tx.send(lockLanes(t, lanes));
    const held = ((locked?.rows ?? []) as unknown as LaneRow[]).map(laneOf);
    if (held.length === 0) return;
    const [ready] = await tx.send(readyIn(t, held));
    const idle = ((ready?.rows ?? []) as unknown as LaneRow[]).filter((row) => row[4] === null).map(laneOf);
    if (idle.length > 0) await tx.send(deleteLanes(t, idle));
  });
}

export async function purgeLines({ t, side, now }: Context, limit: number): Promise<void> {
  await side.transaction('purging lines', async (tx) => {
    const [found] = await tx.send(unusedLines(t, limit, now()));
    const ids = (found?.rows ?? []).map(([id]) => id as number);
    if (ids.length === 0) return;
    const [again] = await tx.send(usedLines(t, ids));
    const unused = ((again?.rows ?? []) as [number, number | null, number | null, number | null][]).filter(
      ([, , , hasMember]) => hasMember === null,
    );
    if (unused.length === 0) return;
    await tx.send(
      deleteLines(
        t,
        unused.map(([id]) => id),
      ),
    );
    const gates = new Set(unused.flatMap(([, key, group]) => [key, group]).filter((gate) => gate !== null));
    if (gates.size === 0) return;
    const [locked] = await tx.send(
      lockUnnamedGates(
        t,
        [...gates].sort((a, b) => a - b),
      ),
    );
    const free = (locked?.rows ?? []).map(([id]) => id as number);
    if (free.length > 0) await tx.send(deleteGates(t, free));
  });
}
