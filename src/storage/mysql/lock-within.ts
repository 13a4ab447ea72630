/*
 * Locking jobs inside a transaction of the user's, who may be at REPEATABLE READ, the default. There a plain read is as
 * old as their first one, and a locking read of a row that isn't there locks the gap, in which other dispatches and
 * claims insert. So where a job stands is looked up first, by our own connection too, and only a row that was just
 * seen is locked. One that has moved on in the meantime is looked for again.
 *
 * Lock order as everywhere: leases, ready, waiting, finals, each in ascending id.
 */
import { MillraceError } from '../../internal/errors.js';
import { bytesToUuid } from '../../internal/uuid.js';
import type { Changes } from './changes.js';
import { marksWidth } from './marks.js';
import {
  bodyOf,
  lockFinals,
  lockLeases,
  lockWaiting,
  type Placed,
  placedOf,
  readBodies,
} from './queries/places.js';
import { lockReadyAt, type ReadyPlace, readPlaces } from './queries/within.js';
import type { ForeignTransaction } from './session.js';
import { hexId, type Sql } from './sql.js';

type Place = Placed['place'];
type Row = readonly unknown[];

interface Seen {
  readonly id: string;
  readonly place: Place;
  readonly ready: ReadyPlace | null;
}

const placesInOrder: readonly Place[] = ['leases', 'ready', 'waiting', 'finals'];
const mostLooks = 50;

export async function lockWithin(
  changes: Changes,
  foreign: ForeignTransaction,
  ids: readonly string[],
): Promise<Map<string, Placed>> {
  const locked = new Map<string, { readonly place: Place; readonly row: Row }>();
  let missing = [...new Set(ids)].sort();
  for (let looks = 0; missing.length > 0; looks += 1) {
    if (looks === mostLooks) throw restless(missing);
    const views = await viewsOf(changes, foreign, missing);
    for (const view of views) await lockSeen(changes, view, locked);
    const known = new Set(views.flatMap((view) => [...view.keys()]));
    missing = missing.filter((id) => known.has(id) && !locked.has(id));
  }
  if (locked.size === 0) return new Map();
  const hex = [...locked.keys()].sort().map(hexId);
  const bodies = await changes.readCommitted(readBodies(changes.context.t, hex), marksWidth);
  return new Map(
    bodies.map(bodyOf).flatMap((body) => {
      const found = locked.get(body.id);
      return found === undefined ? [] : [[body.id, placedOf(found.place, found.row, body)] as const];
    }),
  );
}

/** First what most likely is true: of jobs this transaction has written its own view, of others that of our connection. */
async function viewsOf(
  changes: Changes,
  foreign: ForeignTransaction,
  ids: readonly string[],
): Promise<Map<string, Seen>[]> {
  const statement = readPlaces(changes.context.t, ids.map(hexId));
  const own = seenOf((await changes.tx.send(statement))[0]?.rows ?? []);
  const beside = seenOf((await foreign.beside(statement)).rows);
  const first = new Map<string, Seen>();
  const second = new Map<string, Seen>();
  for (const id of ids) {
    const [likely, other] = foreign.touched.has(id)
      ? [own.get(id), beside.get(id)]
      : [beside.get(id), own.get(id)];
    const best = likely ?? other;
    if (best !== undefined) first.set(id, best);
    if (likely !== undefined && other !== undefined && other.place !== likely.place) second.set(id, other);
  }
  return second.size === 0 ? [first] : [first, second];
}

function seenOf(rows: readonly Row[]): Map<string, Seen> {
  return new Map(
    rows.map((row) => {
      const [bytes, isLeased, waits, hasEnded, queueId, line, rnk, due] = row as [
        Buffer,
        number,
        number,
        number,
        number | null,
        number,
        number,
        number,
      ];
      const id = bytesToUuid(bytes);
      const place = isLeased === 1 ? 'leases' : waits === 1 ? 'waiting' : hasEnded === 1 ? 'finals' : 'ready';
      const ready = place === 'ready' && queueId !== null ? { id, queueId, line, rnk, due } : null;
      return [id, { id, place, ready }] as const;
    }),
  );
}

async function lockSeen(
  changes: Changes,
  seen: ReadonlyMap<string, Seen>,
  locked: Map<string, { readonly place: Place; readonly row: Row }>,
): Promise<void> {
  for (const place of placesInOrder) {
    const here = [...seen.values()].filter((one) => one.place === place && !locked.has(one.id));
    const statements = lockStatements(changes, place, here);
    if (statements.length === 0) continue;
    for (const { rows } of await changes.tx.send(...statements)) {
      for (const row of rows) locked.set(bytesToUuid(row[0] as Buffer), { place, row });
    }
  }
}

function lockStatements({ context: { t } }: Changes, place: Place, seen: readonly Seen[]): Sql[] {
  if (place === 'ready') return seen.flatMap(({ ready }) => (ready === null ? [] : [lockReadyAt(t, ready)]));
  const ids = seen.map(({ id }) => hexId(id));
  if (ids.length === 0) return [];
  const lock = { leases: lockLeases, waiting: lockWaiting, finals: lockFinals }[place];
  return [lock(t, ids)];
}

const restless = (ids: readonly string[]): MillraceError =>
  new MillraceError(
    'transaction-conflict',
    `MySQL: ${ids.length} jobs moved each time they were to be locked`,
    { details: { ids: ids.slice(0, 10) } },
  );
