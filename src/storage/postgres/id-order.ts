/** Rows are locked in the order of a batch; everybody locks in ascending id, so that nobody waits in a circle. */
export function inIdOrder<T extends { readonly id: string }>(items: readonly T[]): readonly T[] {
  for (let index = 1; index < items.length; index += 1) {
    if ((items[index - 1] as T).id > (items[index] as T).id)
      return items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }
  return items;
}
