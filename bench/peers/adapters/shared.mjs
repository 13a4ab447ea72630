import pg from 'pg';

export function* inPieces(list, size) {
  for (let start = 0; start < list.length; start += size) yield list.slice(start, start + size);
}

export function tellError(error) {
  process.stderr.write(`${error?.stack ?? error}\n`);
}

/** Runs `use` over the items, at most `width` of them at a time: for queues that hand over a whole batch. */
export async function over(items, width, use) {
  let next = 0;
  const lane = async () => {
    while (next < items.length) await use(items[next++]);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}

/** Answers the count that a statement selects as `count`, on a connection of its own. */
export function counterOf(connectionString, text) {
  const pool = new pg.Pool({ connectionString, max: 1 });
  pool.on('error', tellError);
  return {
    count: async () => Number((await pool.query(text)).rows[0].count),
    close: () => pool.end(),
  };
}
