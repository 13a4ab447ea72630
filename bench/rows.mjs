/* What was measured last: bench/results.jsonl, a line a row. Rows of a run with --peers say so (`run: 'peers'`). */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const file = new URL('./results.jsonl', import.meta.url);

export function readRows() {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

export function writeRows(rows) {
  writeFileSync(file, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
}

/** A run replaces the one of its kind, of the engines or of the peers, and leaves the other. */
export function mergeRuns(saved, rows) {
  const [{ run }] = rows;
  const others = saved.filter((row) => row.run !== run);
  return run === 'peers' ? [...others, ...rows] : [...rows, ...others];
}
