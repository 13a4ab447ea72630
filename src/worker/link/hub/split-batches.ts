/** Beside the texts of an item, its names and numbers; generous. */
const fixedBytes = 2_048;

/**
 * Parts of a list that each fit into a message, in order. `textsOf` gives the long texts of an item, whose JSON form is
 * measured; an item that fits nowhere stands alone.
 */
export function splitBatches<Item>(
  items: readonly Item[],
  limits: { readonly mostBytes: number; readonly mostItems: number },
  textsOf: (item: Item) => readonly (string | null)[],
): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let batch: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const itemBytes = textsOf(item).reduce((sum, text) => sum + jsonBytes(text), fixedBytes);
    const isFull = batch.length >= limits.mostItems || bytes + itemBytes > limits.mostBytes;
    if (isFull && batch.length > 0) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += itemBytes;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** At most so many in JSON; short texts are guessed high, since counting them costs more than it saves. */
function jsonBytes(text: string | null): number {
  if (text === null) return 4;
  return text.length < 1_024 ? text.length * 6 : Buffer.byteLength(JSON.stringify(text));
}
