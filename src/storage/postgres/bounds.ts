import { createHash } from 'node:crypto';
import { type JobLimit, unbounded } from '../job-limit.js';

/** What bounds a job beyond its time and its turn. */
export interface Bounds {
  readonly limit: JobLimit | null;
  readonly cost: number;
  readonly requires: readonly string[];
}

/** Nothing bounds it: no limit, weight 1, no labels. */
export function isOrdinary({ limit, cost, requires }: Bounds): boolean {
  return limit === null && cost === 1 && requires.length === 0;
}

/** The bounds as one text, part of the schema: group, key, maximum, cost, labels. Null for an ordinary job. */
export function termsOf(bounds: Bounds): string | null {
  if (isOrdinary(bounds)) return null;
  const { limit, cost, requires } = bounds;
  return JSON.stringify([limit?.group ?? null, limit?.key ?? null, limit?.max ?? null, cost, requires]);
}

const mostKept = 10_000;
const parsed = new Map<string, Bounds>();

/** The same terms give the same object, its parts included, as long as it is remembered. */
export function boundsOf(terms: string | null): Bounds {
  if (terms === null) return unbounded;
  let bounds = parsed.get(terms);
  if (bounds === undefined) {
    if (parsed.size >= mostKept) parsed.clear();
    bounds = Object.freeze(parse(terms));
    parsed.set(terms, bounds);
  }
  return bounds;
}

function parse(terms: string): Bounds {
  const [group, key, max, cost, requires] = JSON.parse(terms) as [
    string | null,
    string | null,
    number | null,
    number,
    string[],
  ];
  return { limit: group === null ? null : { group, key, max }, cost, requires };
}

export const hashOf = (terms: string): string => createHash('sha256').update(terms).digest('hex');
