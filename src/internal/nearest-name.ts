/**
 * The known name that a misspelt one most likely means, or undefined when none is near:
 * at most a third of its characters differ (added, missing, replaced or swapped; case aside).
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.slice(0, 100).toLowerCase();
  let nearest: string | undefined;
  let leastDistance = Math.floor(wanted.length / 3) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < leastDistance) {
      leastDistance = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Optimal string alignment: Levenshtein's distance with two swapped neighbours as one change. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        least = Math.min(least, (before[j - 2] as number) + 1);
      }
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[to.length] as number;
}
