import type { HandlerProfile, ProfileNote } from '../handler-profile.js';
import type { Connection } from './connection.js';
import * as sql from './queries/profiles.js';
import type { Transaction } from './transaction.js';

export const minuteMs = 60_000;

export function noteProfiles({ db, nowMs }: Transaction, notes: readonly ProfileNote[]): void {
  const minute = Math.floor(nowMs / minuteMs);
  for (const { name, count, totalMs, maxRssBytes } of notes)
    db.run(sql.addProfile, name, minute, count, totalMs, maxRssBytes);
}

export function profiles(
  db: Connection,
  nowMs: number,
  request: { readonly names: readonly string[]; readonly windowMs: number },
): HandlerProfile[] {
  const minute = Math.floor((nowMs - request.windowMs) / minuteMs);
  return request.names.flatMap((name) => {
    const row = db.get<sql.ProfileRow>(sql.profileOf, name, minute);
    const count = row?.count ?? 0;
    if (row === undefined || count === 0) return [];
    return [{ name, count, averageMs: (row.totalMs ?? 0) / count, peakRssBytes: row.peakRssBytes }];
  });
}
