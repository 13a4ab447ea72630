import { boundLimit } from '../bound-limit.js';

/** One row a handler and minute: with a single writer no insert-only deltas are needed. */
export const addProfile = `
  insert into profiles (name, minute, n, total_ms, max_rss) values (?, ?, ?, ?, ?)
  on conflict (name, minute) do update set
    n = n + excluded.n, total_ms = total_ms + excluded.total_ms,
    max_rss = coalesce(max(max_rss, excluded.max_rss), max_rss, excluded.max_rss)`;

export interface ProfileRow {
  readonly count: number | null;
  readonly totalMs: number | null;
  readonly peakRssBytes: number | null;
}

/** By primary key: a range of minutes. */
export const profileOf = `
  select sum(n) as count, sum(total_ms) as totalMs, max(max_rss) as peakRssBytes
  from profiles where name = ? and minute >= ?`;

/** Index profiles_minute. */
export const purgeProfiles = `
  delete from profiles where (name, minute) in
    (select name, minute from profiles indexed by profiles_minute where minute < ? ${boundLimit})`;
