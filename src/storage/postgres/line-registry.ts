/*
 * Lines: jobs that agree in group, key, maximum, cost and labels share the id of one. A line and its gates are written
 * and committed before the first job of it is.
 *
 * The row of a line is removed when no live job has it and nobody asked for it for a day. So what is remembered here is
 * remembered for an hour, and then asked for again, which refreshes the row.
 */
import type { NewJob } from '../new-job.js';
import { textArray } from './arrays.js';
import { boundsOf, hashOf, termsOf } from './bounds.js';
import type { LineQueries } from './queries/lines.js';
import { type Executor, intOf, intOrNull, type Row, textOf } from './statement.js';

export interface Line {
  readonly id: number;
  readonly terms: string;
  /** Of its group and key; null without a group. */
  readonly gate: number | null;
  /** The gate of its whole group. */
  readonly groupId: number | null;
}

const rememberedMs = 3_600_000;
/** Keys may be as many as tenants; what is forgotten is asked for again. */
const mostRemembered = 10_000;

export class LineRegistry {
  readonly #executor: Executor;
  readonly #queries: LineQueries;
  readonly #offsetMs: () => number;
  readonly #known = new Map<string, Line & { readonly untilMs: number }>();

  constructor(executor: Executor, queries: LineQueries, offsetMs: () => number) {
    this.#executor = executor;
    this.#queries = queries;
    this.#offsetMs = offsetMs;
  }

  /** The tables may be others now. */
  forget(): void {
    this.#known.clear();
  }

  /** The lines of these jobs by their terms, those that are new written. */
  async of(jobs: readonly NewJob[]): Promise<Map<string, Line>> {
    return this.ofTerms(jobs.map(termsOf));
  }

  async ofTerms(list: readonly (string | null)[]): Promise<Map<string, Line>> {
    const lines = new Map<string, Line>();
    const missing = new Set<string>();
    const nowMs = performance.now() + this.#offsetMs();
    for (const terms of list) {
      if (terms === null) continue;
      const line = this.#known.get(terms);
      if (line !== undefined && line.untilMs > nowMs) lines.set(terms, line);
      else missing.add(terms);
    }
    if (missing.size === 0) return lines;
    for (const line of await register(this.#executor, this.#queries, [...missing], this.#offsetMs())) {
      lines.set(line.terms, line);
      this.#remember(line, nowMs + rememberedMs);
    }
    return lines;
  }

  #remember(line: Line, untilMs: number): void {
    this.#known.delete(line.terms);
    this.#known.set(line.terms, { ...line, untilMs });
    if (this.#known.size <= mostRemembered) return;
    for (const terms of this.#known.keys()) {
      this.#known.delete(terms);
      if (this.#known.size <= mostRemembered / 2) return;
    }
  }
}

/** Writes lines that are new, with their gates, and refreshes those that are not. */
export async function register(
  executor: Executor,
  queries: LineQueries,
  terms: readonly string[],
  offsetMs: number,
): Promise<Line[]> {
  const limits = terms.map((text) => boundsOf(text).limit);
  const rows = await executor.run(queries.register, [
    textArray(terms.map(hashOf)),
    textArray(terms),
    textArray(limits.map((limit) => limit?.group ?? null)),
    textArray(limits.map((limit) => limit?.key ?? null)),
    offsetMs,
  ]);
  return rows.map(lineOf);
}

export function lineOf([id, terms, gate, groupId]: Row): Line {
  return { id: intOf(id), terms: textOf(terms), gate: intOrNull(gate), groupId: intOrNull(groupId) };
}
