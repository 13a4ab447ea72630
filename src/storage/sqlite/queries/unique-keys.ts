import { boundLimit } from '../bound-limit.js';

/** By primary key. A period that has passed holds nothing. */
export const keyHolder = 'select job from unique_keys where key = ? and (until is null or until > ?)';

/** By primary key; takes over what has passed. */
export const takeKey = `
  insert into unique_keys (key, job, until) values (?, ?, ?)
  on conflict (key) do update set job = excluded.job, until = excluded.until`;

/** By primary key; after a period another job may have the key. */
export const freeKey = 'delete from unique_keys where key = ? and job = ?';

/** Index unique_keys_until. */
export const purgePeriods = `
  delete from unique_keys where key in
    (select key from unique_keys indexed by unique_keys_until where until is not null and until <= ? ${boundLimit})`;

/** Index jobs_id, then by primary key. */
export const freeKeyOfJob = `
  delete from unique_keys
  where key = (select unique_key from jobs indexed by jobs_id where id = ?) and job = ?`;
