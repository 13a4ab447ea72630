import type { Connection } from './connection.js';

/**
 * Moves what stands in the -wal file into the database and empties it. Done when nothing runs, since it stops the event
 * loop for as long as the disk takes; SQLite itself keeps the file at about 4 MB under load. Never waits for others: with
 * a reader in the way it moves less, and the next call goes on.
 */
export function checkpoint(db: Connection): void {
  db.all('pragma wal_checkpoint(truncate)');
}
