interface Source<T> {
  readonly iterator: Iterator<T>;
  head: T;
}

/** One ordered sequence out of several; each is read only as far as it is needed. */
export function* merge<T>(sequences: readonly Iterable<T>[], compare: (a: T, b: T) => number): Generator<T> {
  let sources: Source<T>[] = [];
  for (const sequence of sequences) {
    const iterator = sequence[Symbol.iterator]();
    const first = iterator.next();
    if (first.done !== true) sources.push({ iterator, head: first.value });
  }
  for (;;) {
    const [least, ...others] = sources;
    if (least === undefined) return;
    let source: Source<T> = least;
    for (const other of others) if (compare(other.head, source.head) < 0) source = other;
    yield source.head;
    const next = source.iterator.next();
    if (next.done === true) sources = sources.filter((known) => known !== source);
    else source.head = next.value;
  }
}
