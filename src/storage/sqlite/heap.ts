/** The least item first. An item that grows while it is the first is put right by `moveFirst`. */
export class Heap<T> {
  readonly #items: T[];
  readonly #isLess: (a: T, b: T) => boolean;

  constructor(items: Iterable<T>, isLess: (a: T, b: T) => boolean) {
    this.#items = [...items];
    this.#isLess = isLess;
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at -= 1) this.#sink(at);
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  dropFirst(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    this.#items[0] = last;
    this.#sink(0);
  }

  moveFirst(): void {
    if (this.#items.length > 1) this.#sink(0);
  }

  #sink(from: number): void {
    const items = this.#items;
    const item = items[from] as T;
    let at = from;
    for (;;) {
      const child = this.#lesserChild(at);
      if (child === undefined || !this.#isLess(items[child] as T, item)) break;
      items[at] = items[child] as T;
      at = child;
    }
    items[at] = item;
  }

  #lesserChild(at: number): number | undefined {
    const left = 2 * at + 1;
    if (left >= this.#items.length) return undefined;
    const right = left + 1;
    if (right >= this.#items.length) return left;
    return this.#isLess(this.#items[right] as T, this.#items[left] as T) ? right : left;
  }
}
