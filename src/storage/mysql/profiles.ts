import type { HandlerProfile, ProfileNote } from '../handler-profile.js';
import type { Context } from './context.js';
import { insertProfiles, lockRecentProfiles, type NewProfile, readProfiles } from './queries/limits.js';
import { list, sql } from './sql.js';

/** Rows that are folded in one transaction. */
const foldRows = 5_000;

export async function noteProfiles(context: Context, notes: readonly ProfileNote[]): Promise<void> {
  if (notes.length === 0) return;
  const nameIds = await context.names.ids(notes.map(({ name }) => name));
  const rows = notes.map(
    ({ count, totalMs, maxRssBytes }, index): NewProfile => ({
      nameId: nameIds[index] ?? 0,
      count,
      totalUs: Math.round(totalMs * 1_000),
      maxRss: maxRssBytes === null ? null : Math.round(maxRssBytes),
    }),
  );
  await context.side.send('noting profiles', insertProfiles(context.t, rows, context.now()));
}

export async function profiles(
  context: Context,
  names: readonly string[],
  windowMs: number,
): Promise<HandlerProfile[]> {
  const known: { name: string; id: number }[] = [];
  for (const name of names) {
    const id = await context.names.find(name);
    if (id !== undefined) known.push({ name, id });
  }
  if (known.length === 0) return [];
  const [result] = await context.side.send(
    'reading profiles',
    readProfiles(
      context.t,
      known.map(({ id }) => id),
      { now: context.now(), windowMs: Math.round(windowMs) },
    ),
  );
  const rows = new Map((result?.rows ?? []).map((row) => [row[0] as number, row.slice(1)]));
  return known.flatMap(({ name, id }) => {
    const row = rows.get(id);
    if (row === undefined) return [];
    const [count, totalUs, peak] = row.map((cell) => (cell === null ? null : Number(cell)));
    const attempts = count ?? 0;
    return [
      {
        name,
        count: attempts,
        averageMs: (totalUs ?? 0) / 1_000 / Math.max(attempts, 1),
        peakRssBytes: peak ?? null,
      },
    ];
  });
}

/** Makes one row of those of a name and minute. */
export async function foldProfiles(context: Context): Promise<void> {
  const { t, side } = context;
  await side.transaction('folding profiles', async (tx) => {
    const [result] = await tx.send(lockRecentProfiles(t, { now: context.now(), limit: foldRows }));
    const rows = (result?.rows ?? []) as [number, number, number, number, number, number | null][];
    const sums = new Map<
      string,
      { ids: number[]; nameId: number; minute: number; n: number; totalUs: number; maxRss: number | null }
    >();
    for (const [id, nameId, minute, n, totalUs, maxRss] of rows) {
      const key = `${nameId} ${minute}`;
      const sum = sums.get(key) ?? { ids: [], nameId, minute, n: 0, totalUs: 0, maxRss: null };
      sums.set(key, sum);
      sum.ids.push(id);
      sum.n += n;
      sum.totalUs += totalUs;
      if (maxRss !== null) sum.maxRss = Math.max(maxRss, sum.maxRss ?? 0);
    }
    const folded = [...sums.values()].filter(({ ids }) => ids.length > 1);
    if (folded.length === 0) return;
    const values = folded.map(
      ({ nameId, minute, n, totalUs, maxRss }) => sql`(${nameId}, ${minute}, ${n}, ${totalUs}, ${maxRss})`,
    );
    await tx.send(
      sql`delete from ${t.profiles} where id in ${list(folded.flatMap(({ ids }) => ids))}`,
      sql`insert into ${t.profiles} (name_id, minute, n, total_us, max_rss) values ${values}`,
    );
  });
}
