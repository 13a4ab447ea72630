import type { Context } from './context.js';

/** What a row takes in a packet beside its texts; the widest has about 500 characters. */
const rowBytes = 800;
/** Longer packets gain nothing and hold the connection longer. */
const mostBytes = 8 * 1024 * 1024;
/** Of a packet: the rest is for what stands around the rows. */
const usableShare = 0.8;

/** Rows in groups that fit into a packet of the server; one that is too large alone stands alone. */
export function chunksBySize<T>(context: Context, rows: readonly T[], sizeOf: (row: T) => number): T[][] {
  const room = Math.min(mostBytes, context.server().maxPacketBytes * usableShare);
  const chunks: T[][] = [];
  let chunk: T[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = rowBytes + sizeOf(row);
    if (chunk.length > 0 && bytes + size > room) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(row);
    bytes += size;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}
