import type { Package } from './library.js';

const number = new Intl.NumberFormat('en');
const mostRows = 15;

const columns: readonly { readonly title: string; readonly value: (each: Package) => number }[] = [
  { title: 'documents', value: ({ documents }) => documents.length },
  { title: 'words', value: ({ words }) => words },
  { title: 'headings', value: ({ headings }) => headings },
  { title: 'links', value: ({ links }) => links },
  { title: 'code', value: ({ codeBlocks }) => codeBlocks },
];

/** The packages that wrote most, and the sum of all. */
export function packageTable(packages: readonly Package[]): string[] {
  const sorted = packages.toSorted((a, b) => b.words - a.words);
  const shown = sorted.slice(0, mostRows);
  const rest = sorted.slice(mostRows);
  const rows = [
    ['package', ...columns.map(({ title }) => title)],
    ...shown.map((each) => rowOf(each.package, [each])),
    ...(rest.length === 0 ? [] : [rowOf(`${rest.length} more`, rest)]),
    rowOf('all', packages),
  ];
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
      .join('  '),
  );
}

function rowOf(name: string, packages: readonly Package[]): string[] {
  return [
    name,
    ...columns.map(({ value }) => number.format(packages.reduce((sum, each) => sum + value(each), 0))),
  ];
}

/** The value below which so much of the sorted list lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? 0;
}

export function speedLine(jobs: number, elapsedMs: number, latencies: readonly number[]): string {
  const sorted = latencies.toSorted((a, b) => a - b);
  const rate = number.format(Math.round((jobs / elapsedMs) * 1000));
  const speed = `${number.format(jobs)} jobs in ${(elapsedMs / 1000).toFixed(2)} s (${rate} a second)`;
  if (sorted.length === 0) return speed;
  return `${speed}; a document from due to done: p50 ${percentile(sorted, 0.5)} ms, p95 ${percentile(sorted, 0.95)} ms`;
}
