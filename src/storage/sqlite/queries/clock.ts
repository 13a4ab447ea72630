/** Epoch ms of the database's clock, which for SQLite is that of this machine. */
export const clockNow = `select cast(round(unixepoch('subsec') * 1000) as integer)`;
