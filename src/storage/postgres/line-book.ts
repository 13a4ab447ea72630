import { type Bounds, boundsOf } from './bounds.js';
import { lineBehind } from './codes.js';
import { type Line, lineOf } from './line-registry.js';
import type { LineQueries } from './queries/lines.js';
import { type Executor, intOf } from './statement.js';

/** A line with what bounds its jobs. */
export interface BoundLine extends Line {
  readonly bounds: Bounds;
}

const mostKept = 20_000;

/** What the ids in the claim index mean, and the gates of queues with a budget, as a claimer remembers them. */
export class LineBook {
  readonly #executor: Executor;
  readonly #queries: LineQueries;
  readonly #offsetMs: () => number;
  readonly #lines = new Map<number, BoundLine>();
  readonly #queueGates = new Map<string, number>();

  constructor(executor: Executor, queries: LineQueries, offsetMs: () => number) {
    this.#executor = executor;
    this.#queries = queries;
    this.#offsetMs = offsetMs;
  }

  /** Null for an ordinary line, and for one whose row has gone. Reads what `learn` has looked up. */
  of(line: number): BoundLine | null {
    return this.#lines.get(lineBehind(line)) ?? null;
  }

  async learn(lines: readonly number[]): Promise<void> {
    const ids = new Set(lines.map(lineBehind).filter((id) => id > 0 && !this.#lines.has(id)));
    if (ids.size === 0) return;
    if (this.#lines.size + ids.size > mostKept) this.#lines.clear();
    const rows = await this.#executor.run(this.#queries.byId, [`{${[...ids].join(',')}}`]);
    for (const row of rows) {
      const line = lineOf(row);
      this.#lines.set(line.id, { ...line, bounds: boundsOf(line.terms) });
    }
  }

  /** The gate of each of these queues. */
  async queueGates(queues: Iterable<string>): Promise<ReadonlyMap<string, number>> {
    const gates = new Map<string, number>();
    for (const queue of queues) {
      const gate = this.#queueGates.get(queue) ?? (await this.#makeQueueGate(queue));
      gates.set(queue, gate);
    }
    return gates;
  }

  /** A gate was not there: whatever is remembered may have gone. */
  forget(): void {
    this.#lines.clear();
    this.#queueGates.clear();
  }

  async #makeQueueGate(queue: string): Promise<number> {
    const [row] = await this.#executor.run(this.#queries.queueGate, [queue, this.#offsetMs()]);
    const gate = intOf(row?.[0]);
    this.#queueGates.set(queue, gate);
    return gate;
  }
}
