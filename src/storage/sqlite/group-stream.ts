import { Heap } from './heap.js';
import type { Gate } from './line-book.js';
import { type Chosen, firstReady, isBefore, LineStream, type Serving, type Stream } from './streams.js';
import type { Stretch } from './stretches.js';
import type { Turns } from './turns.js';

/** The lines of one gate at one rank. */
class Key {
  readonly gate: Gate;
  readonly stretches: Stretch[] = [];
  readonly #serving: Serving;
  #lines: Heap<LineStream> | undefined;

  constructor(gate: Gate, serving: Serving) {
    this.gate = gate;
    this.#serving = serving;
  }

  /** Where its first job stands, or before that. */
  get place(): { readonly dueAt: number; readonly id: string } {
    const read = this.#lines?.first;
    if (read !== undefined) return read;
    let first = this.stretches[0] as Stretch;
    for (const stretch of this.stretches) if (isBefore(stretch, first)) first = stretch;
    return first;
  }

  look(): boolean {
    this.#lines ??= new Heap(
      this.stretches.map((stretch) => new LineStream(stretch, this.#serving)),
      isBefore,
    );
    return firstReady(this.#lines) !== undefined;
  }

  take(): Chosen {
    // It has been looked at, and found to have one.
    const { first } = this.#lines as Heap<LineStream>;
    return (first as LineStream).take();
  }
}

/** Where a key stood when it was last looked at, which is never behind where it stands. */
class KeyPlace {
  readonly key: Key;
  readonly #turns: Turns;
  served = 0;
  dueAt = 0;
  id = '';

  constructor(key: Key, turns: Turns) {
    this.key = key;
    this.#turns = turns;
    this.#stand();
  }

  look(): boolean {
    if (!this.key.look()) return false;
    this.#stand();
    return true;
  }

  #stand(): void {
    const { dueAt, id } = this.key.place;
    this.served = this.#turns.of(this.key.gate);
    this.dueAt = dueAt;
    this.id = id;
  }
}

const isDueBefore = (a: KeyPlace, b: KeyPlace): boolean =>
  a.dueAt === b.dueAt ? a.id < b.id : a.dueAt < b.dueAt;

const isServedBefore = (a: KeyPlace, b: KeyPlace): boolean =>
  a.served === b.served ? isDueBefore(a, b) : a.served < b.served;

/** The keys of one group at one rank: it stands where its first job stands, and gives the job of the key whose turn it is. */
export class GroupStream implements Stream {
  readonly rank: number;
  readonly isMetered = true;
  dueAt = Number.NEGATIVE_INFINITY;
  id = '';
  /** There is no other stream, so it does not matter where this one stands. */
  isOnly = false;
  readonly #keys: readonly Key[];
  readonly #turns: Turns;
  #byPlace: Heap<KeyPlace> | undefined;
  #byTurn: Heap<KeyPlace> | undefined;

  constructor(rank: number, keys: readonly Key[], turns: Turns) {
    this.rank = rank;
    this.#keys = keys;
    this.#turns = turns;
  }

  look(): boolean {
    if (this.isOnly) return this.#next() !== undefined;
    this.#byPlace ??= new Heap(this.#places(), isDueBefore);
    const place = firstReady(this.#byPlace);
    if (place === undefined) return false;
    ({ dueAt: this.dueAt, id: this.id } = place);
    return true;
  }

  take(): Chosen {
    // There is one: a look has found a key with a job that may run.
    const { key } = this.#next() as KeyPlace;
    const chosen = key.take();
    this.#turns.give(key.gate);
    return chosen;
  }

  #next(): KeyPlace | undefined {
    this.#byTurn ??= new Heap(this.#places(), isServedBefore);
    return firstReady(this.#byTurn);
  }

  #places(): KeyPlace[] {
    return this.#keys.map((key) => new KeyPlace(key, this.#turns));
  }
}

/** A stream for each group and rank of these stretches, which all belong to groups. */
export function groupStreams(
  stretches: readonly Stretch[],
  { serving, turns }: { readonly serving: Serving; readonly turns: Turns },
): GroupStream[] {
  const ranks = new Map<number, Map<string, Map<Gate, Key>>>();
  for (const stretch of stretches) {
    const gate = stretch.line.gate as Gate;
    const groups = ensured(ranks, stretch.rank, () => new Map<string, Map<Gate, Key>>());
    const keys = ensured(groups, gate.group, () => new Map<Gate, Key>());
    ensured(keys, gate, () => new Key(gate, serving)).stretches.push(stretch);
  }
  return [...ranks].flatMap(([rank, groups]) =>
    [...groups.values()].map((keys) => new GroupStream(rank, [...keys.values()], turns)),
  );
}

function ensured<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
