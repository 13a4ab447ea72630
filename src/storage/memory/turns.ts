const dayMs = 86_400_000;

interface KeyTurn {
  turn: number;
  /** When it was last named by a dispatch or served. */
  atMs: number;
}

/** Which key of a group was served when; the memory of fairness. */
export class Turns {
  #served = 0;
  readonly #groups = new Map<string, Map<string | null, KeyTurn>>();

  turnOf(group: string, key: string | null): number {
    return this.#groups.get(group)?.get(key)?.turn ?? 0;
  }

  /** The keys that are remembered. */
  *keys(): Generator<readonly [group: string, key: string | null]> {
    for (const [group, keys] of this.#groups) for (const key of keys.keys()) yield [group, key];
  }

  /** A dispatch has named the key. */
  name(group: string, key: string | null, nowMs: number): void {
    this.#key(group, key).atMs = nowMs;
  }

  serve(group: string, key: string | null, nowMs: number): void {
    const served = this.#key(group, key);
    this.#served += 1;
    served.turn = this.#served;
    served.atMs = nowMs;
  }

  /** Forgets keys that nobody named or served for a day, but for those that are needed. */
  forget(nowMs: number, isNeeded: (group: string, key: string | null) => boolean): void {
    for (const [group, keys] of this.#groups) {
      for (const [key, { atMs }] of keys) {
        if (nowMs - atMs >= dayMs && !isNeeded(group, key)) keys.delete(key);
      }
      if (keys.size === 0) this.#groups.delete(group);
    }
  }

  #key(group: string, key: string | null): KeyTurn {
    let keys = this.#groups.get(group);
    if (keys === undefined) {
      keys = new Map();
      this.#groups.set(group, keys);
    }
    let turn = keys.get(key);
    if (turn === undefined) {
      turn = { turn: 0, atMs: 0 };
      keys.set(key, turn);
    }
    return turn;
  }
}
