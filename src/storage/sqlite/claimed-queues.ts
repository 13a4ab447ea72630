/** Tokens of claims that may still be settled here; older ones are asked of the row instead. */
const mostTokens = 2_048;

interface Claimed {
  /** Null: several. */
  queue: number | null;
  isMetered: boolean;
}

/**
 * From which queue this process claimed under which token, where that was a single one, and whether limits or budgets
 * count some of it. A job never changes its queue while it runs, so a settle need not read it from the row: that reading
 * costs half as much again as the settle itself.
 */
export class ClaimedQueues {
  readonly #byToken = new Map<string, Claimed>();

  note(token: string, queue: number, isMetered: boolean): void {
    const known = this.#byToken.get(token);
    if (known !== undefined) {
      if (known.queue !== queue) known.queue = null;
      known.isMetered ||= isMetered;
      return;
    }
    if (this.#byToken.size >= mostTokens) {
      const [oldest] = this.#byToken.keys();
      if (oldest !== undefined) this.#byToken.delete(oldest);
    }
    this.#byToken.set(token, { queue, isMetered });
  }

  /** Undefined where it is not known, or not a single one. */
  of(token: string): { readonly queue: number; readonly isMetered: boolean } | undefined {
    const known = this.#byToken.get(token);
    return known === undefined || known.queue === null
      ? undefined
      : { queue: known.queue, isMetered: known.isMetered };
  }
}
