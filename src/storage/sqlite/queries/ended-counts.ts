/** One row a queue and status: with a single writer no insert-only deltas are needed. */
export const addEnded = `
  insert into ended_counts (queue, status, n) values (?, ?, ?)
  on conflict (queue, status) do update set n = n + excluded.n`;

export const endedOfQueue = 'select queue, status, n from ended_counts where queue = ?';
