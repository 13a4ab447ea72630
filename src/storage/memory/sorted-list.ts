/** Values kept in order in one array: found by halving, moved by splice. No two compare as equal. */
export class SortedList<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    this.#items.splice(this.#position(item), 0, item);
  }

  /** Removes the item, which must still compare as it did when it was added. */
  remove(item: T): void {
    const at = this.#position(item);
    if (this.#items[at] === item) this.#items.splice(at, 1);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }

  #position(item: T): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#items[middle] as T, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
